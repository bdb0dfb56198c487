// The page script of Landed. Every page works without it. It keeps relative
// times fresh, tells when an effect changed while it is being read, counts
// characters, keeps a second click from sending a form twice, and moves through
// the list by keys.

const POLL_MS = 4000;
const main = document.getElementById("main");

// The page's own clock goes on from when it was made, so that a reader's wrong
// clock does not change an age.
const made = Date.parse(main?.dataset.now ?? "");
const started = performance.now();
const now = () => (Number.isNaN(made) ? Date.now() : made + (performance.now() - started));

// --- times ---------------------------------------------------------------

function span(ms) {
  const s = Math.floor(Math.max(0, ms) / 1000);
  const [m, h, d] = [Math.floor(s / 60), Math.floor(s / 3600), Math.floor(s / 86400)];
  if (s < 60) return `${s} s`;
  if (m < 60) return `${m} min`;
  if (h < 48) return m % 60 ? `${h} h ${m % 60} min` : `${h} h`;
  if (d < 14) return h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
  return `${d} d`;
}

function relative(at, form) {
  const gone = now() - at;
  if (form === "age") return span(gone);
  if (gone < 0) return `in ${span(-gone)}`;
  return gone < 1000 ? "just now" : `${span(gone)} ago`;
}

function freshenTimes(root = document) {
  for (const el of root.querySelectorAll("time[data-rel]")) {
    const at = Date.parse(el.dateTime);
    if (Number.isNaN(at)) continue;
    const text = relative(at, el.dataset.rel);
    if (el.textContent !== text) el.textContent = text;
  }
}

function localTitles(root = document) {
  const zone = Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  for (const el of root.querySelectorAll("time[data-rel]")) {
    const at = Date.parse(el.dateTime);
    if (!Number.isNaN(at)) el.title = `${el.title.split("\n")[0]}\n${zone.format(at)} here`;
  }
}

// --- forms ---------------------------------------------------------------

function typedInto(form) {
  return [...form.elements].some((el) => {
    if (el.type === "hidden" || el.tagName === "BUTTON" || el.tagName === "FIELDSET") return false;
    if (el.type === "radio" || el.type === "checkbox") return el.checked !== el.defaultChecked;
    if (el.tagName === "SELECT") return [...el.options].some((o, i) => o.selected !== (o.defaultSelected || (i === 0 && ![...el.options].some((x) => x.defaultSelected))));
    return el.value !== el.defaultValue;
  });
}

const forms = () => [...document.querySelectorAll("form[data-form]")];
const writing = () => forms().some((f) => f.contains(document.activeElement) || typedInto(f) || f.querySelector("[aria-invalid=true]"));

function countCharacters() {
  for (const area of document.querySelectorAll("textarea[data-count]")) {
    const out = area.parentElement.querySelector("[data-counter]");
    const say = () => {
      const n = [...area.value.trim()].length;
      const left = area.minLength - n;
      out.textContent = left > 0 ? `${left} more ${left === 1 ? "character" : "characters"} needed` : `${n} of at most ${area.maxLength}`;
    };
    area.addEventListener("input", say);
    say();
  }
}

function sendOnce() {
  for (const form of document.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", () => {
      // After this turn, so that the button's own value is still sent.
      setTimeout(() => { for (const b of form.querySelectorAll("button")) b.disabled = true; });
    });
  }
  // Back from the next page: the buttons work again.
  addEventListener("pageshow", () => { for (const b of document.querySelectorAll("form[data-once] button")) b.disabled = false; });
}

// --- an effect that changes while it is read ---------------------------------

const policy = globalThis.trustedTypes?.createPolicy("landed", { createHTML: (s) => s });

function parsePage(text) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
}

// pageOf is the effect's own address. A page that answers a form stands at the
// form's address, which can't be asked for.
function pageOf() {
  const own = document.querySelector("[data-effect]")?.dataset.poll?.replace(/\/version$/, "");
  return !own || own === location.pathname ? location.href : own;
}

function offerReload(text) {
  const note = document.querySelector("[data-live-note]");
  if (!note || note.childElementCount > 0) return;
  const say = document.createElement("span");
  say.textContent = text;
  const link = document.createElement("button");
  link.type = "button";
  link.className = "secondary";
  link.textContent = "Show what is new";
  link.addEventListener("click", () => { if (pageOf() === location.href) location.reload(); else location.assign(pageOf()); });
  note.append(say, link);
}

// replaceParts swaps the parts that changed, and keeps folds as the reader left
// them. It says no when that would pull something away from under the reader.
function replaceParts(page) {
  const fresh = [...page.querySelectorAll("[data-live]")];
  const old = [...document.querySelectorAll("[data-live]")];
  const sameShape = fresh.length === old.length && fresh.every((el, i) => el.id === old[i].id);
  const formsNow = page.querySelectorAll("form[data-form]").length > 0;
  if (!sameShape || formsNow) return false;
  if (old.some((el) => el.contains(document.activeElement))) return false;
  old.forEach((el, i) => {
    for (const d of el.querySelectorAll("details[open][id]")) fresh[i].querySelector(`#${CSS.escape(d.id)}`)?.setAttribute("open", "");
    const next = document.importNode(fresh[i], true);
    next.classList.add("live-fresh");
    el.replaceWith(next);
  });
  const [headNow, headOld] = [page.querySelector(".e-head"), document.querySelector(".e-head")];
  if (headNow && headOld) headOld.replaceWith(document.importNode(headNow, true));
  const [sideNow, sideOld] = [page.querySelector(".e-side"), document.querySelector(".e-side")];
  if (sideNow && sideOld) sideOld.replaceWith(document.importNode(sideNow, true));
  localTitles();
  freshenTimes();
  return true;
}

async function refresh(root, version) {
  const answer = await fetch(pageOf(), { credentials: "same-origin", headers: { Accept: "text/html", "Landed-Background": "1" }, redirect: "error" });
  if (!answer.ok) throw new Error(`answer ${answer.status}`);
  const page = parsePage(await answer.text());
  const next = page.querySelector("[data-effect]");
  if (!next || !replaceParts(page)) return offerReload("This effect changed.");
  root.dataset.version = next.dataset.version ?? version;
  root.toggleAttribute("data-watching", next.hasAttribute("data-watching"));
}

async function ask(root) {
  const answer = await fetch(root.dataset.poll, { credentials: "same-origin", headers: { Accept: "application/json", "Landed-Background": "1" }, redirect: "error" });
  if (answer.status === 401 || answer.status === 403) return "stop";
  if (!answer.ok) throw new Error(`answer ${answer.status}`);
  const { version } = await answer.json();
  if (String(version) === root.dataset.version) return "";
  if (!root.hasAttribute("data-watching") || writing()) {
    offerReload("This effect changed since the page was made.");
    return "stop";
  }
  await refresh(root, version);
  return "";
}

function watchEffect() {
  const root = document.querySelector("[data-effect]");
  if (!root?.dataset.poll) return;
  let wait = POLL_MS;
  let timer = 0;
  let busy = false;
  const next = () => { clearTimeout(timer); timer = setTimeout(turn, wait); };
  const turn = async () => {
    if (document.hidden || busy) return;
    if (writing() && document.hasFocus()) return next();
    busy = true;
    try {
      if ((await ask(root)) === "stop") { busy = false; return; }
      wait = POLL_MS;
    } catch {
      wait = Math.min(wait * 2, 60000);
    }
    busy = false;
    next();
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { freshenTimes(); turn(); } });
  next();
}

// --- who else has it open ------------------------------------------------------

const BEAT_MS = 20000;

function showPresent(lines) {
  const list = document.querySelector("[data-present]");
  if (!list || [...list.children].map((el) => el.textContent).join("\n") === lines.join("\n")) return;
  list.replaceChildren(...lines.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
}

function beats() {
  const url = document.querySelector("[data-here]")?.dataset.here;
  const token = document.querySelector("input[name=form_token]")?.value;
  if (!url || !token || !globalThis.crypto?.getRandomValues) return;
  const id = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  let typed = -BEAT_MS;
  let timer = 0;
  let lost = 0;
  const send = (more) => fetch(url, {
    method: "POST", credentials: "same-origin", redirect: "error", keepalive: true,
    headers: { Accept: "application/json", "Landed-Background": "1", "Landed-Form-Token": token },
    body: new URLSearchParams({ window: id, ...more }),
  });
  const beat = async () => {
    clearTimeout(timer);
    try {
      const answer = await send(performance.now() - typed < BEAT_MS ? { typing: "1" } : {});
      if (answer.status >= 400 && answer.status < 500) return;
      if (answer.ok) showPresent((await answer.json()).present);
      lost = answer.ok ? 0 : lost + 1;
    } catch {
      lost += 1;
    }
    timer = setTimeout(beat, BEAT_MS * Math.min(2 ** lost, 8));
  };
  document.addEventListener("input", () => { typed = performance.now(); });
  addEventListener("pagehide", () => { clearTimeout(timer); send({ gone: "1" }).catch(() => {}); });
  addEventListener("pageshow", (e) => { if (e.persisted) beat(); });
  beat();
}

// --- keys on the list ------------------------------------------------------

const KEYS = "landed.keys";
const keysOn = () => { try { return localStorage.getItem(KEYS) !== "off"; } catch { return true; } };

function listKeys() {
  const list = document.querySelector("[data-list]");
  const note = document.querySelector("[data-keys-note]");
  if (!list || !note) return;
  const toggle = note.querySelector("[data-keys-toggle]");
  const show = () => {
    toggle.setAttribute("aria-pressed", String(keysOn()));
    toggle.textContent = keysOn() ? "Keys are on: j and k move, Enter opens. Turn off" : "Keys are off. Turn on";
  };
  toggle.addEventListener("click", () => {
    try { localStorage.setItem(KEYS, keysOn() ? "off" : "on"); } catch { /* a browser without storage keeps the default */ }
    show();
  });
  note.hidden = false;
  show();
  document.addEventListener("keydown", (e) => {
    if (!keysOn() || e.ctrlKey || e.metaKey || e.altKey || (e.key !== "j" && e.key !== "k")) return;
    if (e.target instanceof HTMLElement && e.target.closest("input, select, textarea, [contenteditable]")) return;
    const links = [...list.querySelectorAll(".row-link")];
    const at = links.findIndex((l) => l.closest("tr").contains(document.activeElement));
    const to = links[e.key === "j" ? Math.min(at + 1, links.length - 1) : Math.max(at - 1, 0)];
    to?.focus();
    to?.closest("tr").scrollIntoView({ block: "nearest" });
    e.preventDefault();
  });
}

// --- start -----------------------------------------------------------------

document.querySelector("[data-notice][role=alert]")?.focus();
localTitles();
countCharacters();
sendOnce();
watchEffect();
beats();
listKeys();
setInterval(() => { if (!document.hidden) freshenTimes(); }, 1000);
