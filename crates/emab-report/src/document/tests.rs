use super::*;
use crate::claim::Verdict;

fn document() -> Document {
    let claim = Claim {
        ours: false,
        place: "Lemma <1>".into(),
        says: "a | b".into(),
        how: "\"exactly\" on `a<b`".into(),
        measured: "1 & 2".into(),
        verdict: Verdict::HoldsInPart,
    };
    Document {
        title: "A & B".into(),
        blocks: vec![
            Block::Claims(vec![claim]),
            Block::Picture {
                name: "one".into(),
                caption: "a < b".into(),
                svg: "<svg id=\"a#b\">100 %</svg>".into(),
                narrow: None,
            },
        ],
    }
}

#[test]
fn html_escapes_texts_and_embeds_figures() {
    let html = document().html();
    assert!(
        html.contains("<th scope=\"row\">Lemma &lt;1&gt;</th><td>a | b</td><td>&quot;exactly&quot; on <code>a&lt;b</code></td>"),
        "{html}"
    );
    assert!(html.contains("<tr class=\"part\">"));
    assert!(
        html.contains("src=\"data:image/svg+xml,%3Csvg%20id=%22a%23b%22%3E100%20%25%3C/svg%3E\"")
    );
    // Self-contained: no script and no external resources.
    for outside in [
        "http:",
        "https:",
        "<script",
        "<link",
        "@import",
        "src=\"one",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn markdown_escapes_tables_and_links_figures() {
    let markdown = document().markdown();
    assert!(
        markdown
            .contains("| Lemma <1> | a \\| b | \"exactly\" on `a<b` | 1 & 2 | **holds in part** |")
    );
    assert!(markdown.contains("![a < b](one.png)"));
}

#[test]
fn sections_lower_their_headings_and_columns_of_numbers_stand_to_the_right() {
    let cells = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let table = Block::table(
        vec!["learner", "regret", "sees"],
        vec![cells(["ucb1", "1.5 ± 0.2", "episodes"])],
    );
    let details = Block::Details {
        summary: "Data".into(),
        blocks: vec![table],
    };
    let blocks = ["Run", "Learners", "Problem", "Repeat"];
    let mut blocks: Vec<Block> = blocks.map(|text| Block::Heading(text.into())).to_vec();
    blocks.push(Block::Section(vec![
        Block::Heading("Cells".into()),
        details,
    ]));
    let document = Document {
        title: "Report".into(),
        blocks,
    };
    let html = document.html();
    assert!(html.contains("<li><a href=\"#part-1\">Run</a></li>"));
    assert!(
        !html.contains(">Cells</a>"),
        "only the first level is listed"
    );
    assert!(html.contains("<section><h3 id=\"part-5\">Cells</h3>"));
    assert!(html.contains("<summary>Data</summary>"));
    assert!(html.contains("aria-label=\"Table: Data\""));
    assert!(html.contains("<td class=\"n\">1.5\u{a0}±\u{a0}0.2</td><td>episodes</td>"));
    assert!(document.markdown().contains("\n### Cells\n"));
}
