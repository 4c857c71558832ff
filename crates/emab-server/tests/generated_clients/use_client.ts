// Calls a service with the client that @hey-api/openapi-ts generated: `node use_client.js URL TOKEN`.
import { client } from "./generated/client.gen";
import * as emab from "./generated";

const [url, token] = process.argv.slice(2) as [string, string];
client.setConfig({ baseUrl: url, auth: token, throwOnError: true });

function same(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
  }
}

async function main(): Promise<void> {
  const body: emab.NewStudy = {
    horizon: 3,
    states: ["unknown", "clear", "suspect"],
    actions: ["blood", "scan"],
    feedbacks: ["negative", "positive"],
    transition: "1 + f",
    learner: "feedbal",
  };
  const study = await emab.createStudy<true>({ path: { study: "yard" }, body });
  same(study.data.study, "yard");
  const episodes = [{ id: "p0", actions: ["blood"], feedbacks: ["positive"], costs: [0.1], rewards: [0, 0.9] }];
  const report = await emab.importStudy<true>({ path: { study: "yard" }, body: { episodes } });
  same(report.data.taken, 1);
  const opened = await emab.openEpisode<true>({ path: { study: "yard" }, body: { id: "p1" } });
  const asked = await emab.askEpisode<true>({ path: { study: "yard", episode: "p1" } });
  same(asked.data.action, opened.data.action);
  const table = await emab.readDecisions<true>({ path: { study: "yard" }, query: { format: "csv" }, parseAs: "text" });
  same(String(table.data).split("\n").length, 5);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
