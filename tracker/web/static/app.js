// Keys, the switch between light and dark, and the live log. Pages work without it.

function switchTheme() {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("theme", next);
  document.dispatchEvent(new Event("themechange"));
}

function moveRow(step) {
  const rows = [...document.querySelectorAll(".row")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  const target = next.querySelector("a[href]");
  if (target) { target.focus(); next.scrollIntoView({ block: "nearest" }); }
}

const PLACES = { o: "/", r: "/releases", s: "/series", u: "/runs", a: "/alerts" };
let going = false;

const KEYS = {
  "/": () => document.getElementById("search").focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  t: switchTheme,
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  if (going && PLACES[event.key]) { location.href = PLACES[event.key]; return; }
  going = event.key === "g";
  if (Object.hasOwn(KEYS, event.key)) { event.preventDefault(); KEYS[event.key](); }
});

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", switchTheme);
const keys = document.getElementById("show-keys");
keys.hidden = false;
keys.addEventListener("click", KEYS["?"]);

const POLL_MS = 1000;

async function followLog(log, live) {
  const address = new URL(log.dataset.address, location.href);
  address.searchParams.set("name", log.dataset.name);
  address.searchParams.set("start", log.dataset.start);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(String(answer.status));
  const { state, unseen, log: part } = await answer.json();
  if (part) {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    if (log.dataset.name && part.name !== log.dataset.name) log.append("\n");
    log.append(part.text);
    log.dataset.name = part.name;
    log.dataset.start = part.next;
    document.getElementById("no-log")?.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  }
  const shown = document.getElementById("state").dataset;
  if (state !== shown.state || String(unseen) !== shown.unseen) { location.reload(); return false; }
  live.textContent = unseen ? "It goes on by itself when there is an answer." : "Live: new lines appear by themselves.";
  return true;
}

async function keepFollowing(log, live) {
  for (;;) {
    if (!document.hidden) {
      try {
        if (!(await followLog(log, live))) return;
      } catch {
        live.textContent = "The service does not answer; trying again.";
      }
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

const REFRESH_MS = 5000;

// A page that shows work in progress is brought up to date in place, unless somebody is using it.
async function refresh() {
  const main = document.getElementById("main");
  if (document.hidden || main.contains(document.activeElement)) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  main.replaceChildren(...page.getElementById("main").childNodes);
}

if (document.querySelector("[data-refresh]")) setInterval(() => refresh().catch(() => {}), REFRESH_MS);

const log = document.getElementById("log");
const live = document.getElementById("live");
if (log) log.scrollTop = log.scrollHeight;
if (log && live) keepFollowing(log, live);
