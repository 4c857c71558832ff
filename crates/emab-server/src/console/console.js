// An optional script for the pages of the console, which also work without it: pages refresh when something changes, a form
// that cannot be sent keeps what was typed, times are shown in the reader's zone.
"use strict";

const page = new DOMParser();
let changed = false; // whether something was typed since the page was shown
let stream = null;
let reload = null; // the timer of a page whose content changes without an event
let shown = address(); // the page that is shown

function address() {
  return location.href.split("#")[0];
}

function say(text) {
  const place = document.getElementById("connection");
  if (place) place.textContent = text ? ` ${text}` : "";
}

function localTimes() {
  for (const it of document.querySelectorAll("time[datetime]:not([title])")) {
    const time = new Date(it.dateTime);
    if (isNaN(time)) continue;
    it.title = it.textContent;
    it.textContent = time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  }
}

// The addresses in a page are relative to its own, which may not be that of the window.
function resolve(next, address) {
  for (const name of ["href", "action", "data-updates", "data-check"]) {
    for (const it of next.querySelectorAll(`[${name}]:not([${name}^="#"], [${name}^="data:"])`)) {
      it.setAttribute(name, new URL(it.getAttribute(name), address).href);
    }
  }
}

// What identifies an element in two versions of a page.
function identity(it) {
  return [it.tagName, it.id || it.href || it.textContent].join(" ");
}

// Shows another version of the page, or another page; `from` is the address that it came from.
function show(text, from, url, focus) {
  const next = page.parseFromString(text, "text/html");
  const focused = identity(document.activeElement);
  resolve(next.body, from);
  const open = new Set([...document.querySelectorAll("details[open] > summary")].map((it) => it.textContent));
  document.title = next.title;
  document.body.replaceWith(next.body);
  if (url && url !== location.href) history.pushState(null, "", url);
  shown = address();
  if (!focus) {
    for (const it of document.querySelectorAll("details > summary")) {
      if (open.has(it.textContent)) it.parentElement.open = true;
    }
    const same = [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")].find((it) => identity(it) === focused);
    same?.focus({ preventScroll: true });
  }
  changed = false;
  begin();
  if (focus) {
    const target = document.querySelector("[role=alert], [role=status]:not(#connection), [autofocus]") ?? document.querySelector("main");
    target.tabIndex = target.tabIndex < 0 ? -1 : target.tabIndex;
    target.focus();
    scrollTo(0, 0);
  }
}

async function refresh() {
  if (changed) {
    say("Something was recorded meanwhile. Reload the page to see it, after you have sent what you typed.");
    return;
  }
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok && !changed) show(await answer.text(), answer.url, null, false);
  } catch {
    say("Not connected: this page may be out of date.");
  }
}

function follow() {
  const address = document.querySelector("main[data-updates]")?.dataset.updates;
  stream?.close();
  stream = null;
  // A hidden page holds no connection: browsers allow few of them.
  if (!address || document.hidden) return;
  stream = new EventSource(address);
  stream.onopen = () => say("");
  stream.onmessage = refresh;
  stream.onerror = () => {
    say("Not connected: this page may be out of date.");
    // A browser does not try again after an answer that is not a stream.
    if (stream?.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}

async function send(form, button) {
  const fields = new URLSearchParams(new FormData(form, button));
  const buttons = form.querySelectorAll("button");
  buttons.forEach((it) => (it.disabled = true));
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: fields, headers: { Accept: "text/html" } });
    const text = await answer.text();
    if (answer.ok) show(text, answer.url, answer.redirected ? answer.url : null, true);
    else keep(form, buttons, reason(text) ?? `The service cannot answer now (status ${answer.status}).`, answer.status);
  } catch {
    keep(form, buttons, "The service cannot be reached.", 503);
  }
}

// Why a page with an error is shown; a proxy's page does not say it.
function reason(text) {
  const main = page.parseFromString(text, "text/html").getElementById("main");
  const parts = [...(main?.querySelectorAll("h1, h1 + p") ?? [])].map((it) => it.textContent);
  return parts.length ? `${parts.join(": ")}.` : null;
}

// Keeps a form that was not recorded, and says why.
function keep(form, buttons, why, status) {
  buttons.forEach((it) => (it.disabled = false));
  const old = form.querySelector("[role=alert]");
  const alert = old ?? document.createElement("p");
  alert.className = "error";
  alert.setAttribute("role", "alert");
  const again = status === 429 || status >= 500 ? ": send it again. Sending it twice is harmless." : ".";
  alert.textContent = `${why} What you typed is kept${again}`;
  if (!old) form.prepend(alert);
}

// Checks a form while it is typed: shows what the button that checks it would show.
const check = { timer: 0, last: null };
function checkSoon(form) {
  clearTimeout(check.timer);
  check.timer = setTimeout(async () => {
    check.last?.abort();
    check.last = new AbortController();
    const request = { method: "POST", body: new FormData(form), headers: { Accept: "text/html" }, signal: check.last.signal };
    try {
      const next = page.parseFromString(await (await fetch(form.dataset.check, request)).text(), "text/html");
      for (const id of ["found", "preview"]) {
        const found = next.getElementById(id);
        if (found) document.getElementById(id)?.replaceChildren(...found.childNodes);
      }
    } catch {
      // The next input or the button checks it again.
    }
  }, 500);
}

// The arrow keys move between the cases of a list.
function move(event, step) {
  const links = [...document.querySelectorAll(".cases tbody th a")];
  const at = links.indexOf(document.activeElement);
  if (at < 0 || !links[at + step]) return;
  event.preventDefault();
  links[at + step].focus();
}

function begin() {
  localTimes();
  // Browsers copy on pages of a secure connection or of this machine only.
  for (const it of document.querySelectorAll("button[data-copy][hidden]")) it.hidden = !navigator.clipboard;
  follow();
  clearTimeout(reload);
  const running = document.querySelector("[data-reload]");
  if (running) reload = setTimeout(() => changed || refresh(), 1000 * running.dataset.reload);
}

document.addEventListener("input", (event) => {
  changed = true;
  const form = event.target.closest("form[data-check]");
  if (form) checkSoon(form);
});
document.addEventListener("visibilitychange", follow);
document.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") move(event, 1);
  if (event.key === "ArrowUp") move(event, -1);
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  say("Copied.");
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  // A field named `action` hides the property. Signing in and out changes cookies, and files are sent by the browser.
  const [method, action] = ["method", "action"].map((name) => form.getAttribute(name));
  // A stream that connects after its session has ended would be answered with an error.
  if (/sign-out$/.test(action)) stream?.close();
  if (method !== "post" || form.hasAttribute("enctype") || /sign-(in|out)$/.test(action)) return;
  event.preventDefault();
  send(form, event.submitter);
});
// Not after a link within the page.
addEventListener("popstate", () => address() === shown || location.reload());
begin();
