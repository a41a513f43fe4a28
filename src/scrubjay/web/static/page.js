import { ScatterMap, format } from "./map.js";
import { actionText, drawChart, element, facts, neighborTable, percent, overestimateTable } from "./panels.js";

const $ = (id) => document.getElementById(id);
const COLORS = {
  value: "stored value of a row",
  age: "changes of the memory since the row last changed (newest drawn on top)",
  density: "distance to the fifth nearest row (densest drawn on top)",
  trust: "weight of a row in the selected state",
};
const FRAME_MS = 60, POLL_MS = 150;
const state = {
  about: null, checkpoint: 0, memories: null, memory: 0, x: 0, y: 1, by: "value",
  explained: null, overestimated: [], episode: null, step: 0, playing: false,
};
const map = new ScatterMap($("plot"), $("points"), $("overlay"));

// ---------------------------------------------------------------- asking the server

async function ask(name, question = {}, kind = "json") {
  const response = await fetch(`api/${name}?${new URLSearchParams(question)}`);
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new Error(answer.error ?? `the server answered ${response.status}`);
  }
  return kind === "json" ? response.json() : response.arrayBuffer();
}

const here = () => ({ checkpoint: state.checkpoint, memory: state.memory, x: state.x, y: state.y });
const memoryHere = () => state.memories.memories[state.memory];
const severalMemories = () => state.memories.memories.length > 1;

function complain(error) {
  $("error").textContent = error instanceof TypeError ? "The server does not answer; was it stopped?" : error.message;
  $("error").hidden = false;
}

// Runs one interaction and notes how long it took until it was on the screen; only the newest
// interaction of a kind may change the page.
const newest = {};
async function interact(kind, action) {
  const turn = (newest[kind] = (newest[kind] ?? 0) + 1), start = performance.now();
  try {
    await action(() => turn === newest[kind]);
    $("error").hidden = true;
  } catch (error) {
    complain(error);
  }
  requestAnimationFrame(() => setTimeout(() => {
    performance.measure(`scrubjay:${kind}`, { start });
    document.body.dataset.done = `${kind}:${turn}`;
  }));
}

// ---------------------------------------------------------------- checkpoints and the map

async function start() {
  state.about = await ask("about");
  const { title, task, method, checkpoints, shown, no_replay: noReplay } = state.about;
  document.title = `${title}: scrubjay inspect`;
  $("title").textContent = title;
  $("checkpoint").replaceChildren(...checkpoints.map((name, i) => element("option", { value: i, textContent: name })));
  $("checkpoints").hidden = checkpoints.length < 2;
  state.name = [method, task].filter(Boolean).join(" on ");
  if (noReplay) {
    for (const id of ["player", "stage"]) $(id).hidden = true;
    $("replay-about").textContent = `No replay: ${noReplay}`;
    $("overestimates").hidden = true;
  }
  await openCheckpoint(shown, false);
}

async function openCheckpoint(index, keepView = true) {
  await interact("checkpoint", async (isNewest) => {
    const first = state.memories === null, asking = ask("memories", { checkpoint: index });
    // all questions at once; the map is asked for again if the axes turn out to be others
    let points = first ? null : askCloud({ ...here(), checkpoint: index });
    points?.catch(() => {});
    const before = String([state.memory, state.x, state.y]);
    const found = await asking;
    if (!isNewest()) return;
    Object.assign(state, { checkpoint: index, memories: found, overestimated: [] });
    $("checkpoint").value = index;
    $("previous").disabled = index === 0;
    $("next").disabled = index === state.about.checkpoints.length - 1;
    state.memory = Math.min(state.memory, found.memories.length - 1);
    if (first) state.memory = Math.max(0, found.memories.findIndex((m) => m.rows > 0));
    stopEpisode();
    clearOverestimates();
    fillChoices(first);
    if (!points || String([state.memory, state.x, state.y]) !== before) points = askCloud(here());
    const rows = memoryHere().rows, row = state.explained?.row;
    const kept = row !== null && row !== undefined && row < rows && !first;
    asked = { row: kept ? row : memoryHere().best };
    const explaining = rows ? ask("explain", { ...here(), ...asked }) : null;
    explaining?.catch(() => {});
    await loadCloud(keepView, isNewest, points);
    if (!rows) showNothing();
    else showExplained(await explaining, isNewest);
  });
}

function describe() {
  const { steps, episodes, memories } = state.memories;
  const rows = memories.reduce((sum, m) => sum + m.rows, 0), count = (n) => n.toLocaleString("en");
  const parts = [state.name, `${count(rows)} ${rows === 1 ? "row" : "rows"}`];
  if (memories.length > 1) parts[1] += ` in ${memories.length} memories`;
  if (steps !== null) parts.push(`${count(steps)} steps, ${count(episodes)} episodes`);
  $("facts").textContent = parts.filter(Boolean).join(" · ");
  const { rows: n, drawn } = memoryHere();
  $("map-note").textContent = n === 0 ? "This memory has no rows yet."
    : drawn < n ? `${count(drawn)} of ${count(n)} rows are drawn, a random sample. Neighbours are looked up among all rows.`
    : `All ${count(n)} rows are drawn.`;
}

function fillChoices(first) {
  const { memories } = state.memories, { axes, default: chosen } = memoryHere();
  $("memory-choice").hidden = memories.length < 2;
  $("memory").replaceChildren(...memories.map((m, i) =>
    element("option", { value: i, textContent: `${m.name} (${m.rows.toLocaleString("en")})` })));
  $("memory").value = state.memory;
  if (first || Math.max(state.x, state.y) >= axes.length) [state.x, state.y] = chosen;
  for (const id of ["x", "y"]) {
    $(id).replaceChildren(...axes.map((name, i) => element("option", { value: i, textContent: name })));
    $(id).value = state[id];
  }
  describe();
}

const askCloud = (question) => Promise.all([ask("cloud", question, "binary"), fetchColors(question)]);

async function loadCloud(keepView, isNewest, points = askCloud(here())) {
  const [cloud, colors] = await points;
  if (!isNewest()) return;
  const n = cloud.byteLength / 12, { axes } = memoryHere(), { place, walls, ratio, flipped } = state.memories;
  const straight = place && place[0] === state.x && place[1] === state.y;
  const swapped = place && place[0] === state.y && place[1] === state.x;
  map.setPoints(
    new Float32Array(cloud, 0, n), new Float32Array(cloud, 4 * n, n), new Int32Array(cloud, 8 * n, n),
    {
      labels: [axes[state.x], axes[state.y]],
      walls: straight ? walls : swapped ? walls.map(([a, b, c, d]) => [b, a, d, c]) : [],
      ratio: straight ? ratio : swapped ? 1 / ratio : null,
      flipped: straight ? flipped : swapped ? [flipped[1], flipped[0]] : [false, false],
    },
    keepView,
  );
  applyColors(colors);
  markBroken();
  await loadPath();
  map.draw();
}

async function fetchColors(question = here()) {
  return state.by === "trust" ? null : ask("colors", { ...question, by: state.by }, "binary");
}

function applyColors(answer) {
  const legend = (low, high, name) => {
    $("legend-low").textContent = low;
    $("legend-high").textContent = high;
    $("legend-name").textContent = name;
  };
  if (answer === null) {
    map.setColors(null);
    legend("0", "1", COLORS.trust);
    map.drawScale($("scale"), false);
    return;
  }
  const known = new Float32Array(answer, 0, 1)[0], numbers = new Float32Array(answer, 4);
  const { shares, low, high, reversed } = toShares(numbers, state.by);
  map.setColors(shares);
  legend(format(low), format(high), COLORS[state.by] + (known < 1 ? ` (measuring: ${Math.floor(100 * known)}%)` : ""));
  map.drawScale($("scale"), reversed);
  if (known < 1) setTimeout(() => { if (state.by === "density") recolor("measure"); }, 2 * POLL_MS);
}

// Small ages and small distances get the bright end, and distances are compared by their ratio.
function toShares(numbers, by) {
  const logs = by === "density", reversed = by !== "value";
  let low = Infinity, high = -Infinity;
  for (const v of numbers) if (v === v && (!logs || v > 0)) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) [low, high] = [0, 0];
  const floor = low || 1e-30, from = logs ? Math.log(floor) : low;
  const range = (logs ? Math.log(Math.max(high, floor)) : high) - from || 1;
  const sign = reversed ? -1 / range : 1 / range, offset = reversed ? 1 : 0;
  const shares = new Float32Array(numbers.length);
  for (let i = 0; i < shares.length; i++) {
    const v = numbers[i];
    shares[i] = offset + sign * ((logs ? Math.log(v > floor ? v : v === v ? floor : NaN) : v) - from);
  }
  return { shares, low, high, reversed };
}

function recolor(kind = "color") {
  return interact(kind, async (isNewest) => {
    const colors = await fetchColors();
    if (!isNewest()) return;
    applyColors(colors);
    mark();
    map.draw();
  });
}

function colorBy(by) {
  state.by = by;
  for (const button of document.querySelectorAll("[data-color]"))
    button.setAttribute("aria-pressed", String(button.dataset.color === by));
  return recolor();
}

function changeAxes() {
  return interact("axes", async (isNewest) => {
    [state.memory, state.x, state.y] = ["memory", "x", "y"].map((id) => Number($(id).value));
    fillChoices(false);
    await loadCloud(false, isNewest);
    if (!memoryHere().rows) showNothing();
    else if (state.explained) await explain(asked, isNewest);
  });
}

function changeMemory() {
  asked = { row: state.memories.memories[Number($("memory").value)].best };
  return changeAxes();
}

// ---------------------------------------------------------------- one state

let asked = null;

async function explain(question, isNewest) {
  asked = question;
  showExplained(await ask("explain", { ...here(), ...question }), isNewest);
}

function showExplained(found, isNewest) {
  if (!isNewest()) return;
  state.explained = found;
  showState(found);
  mark();
  map.drawOverlay();
}

const pick = (row) => interact("pick", (isNewest) => explain({ row }, isNewest));

async function pickRow({ memory, row }) {
  const index = state.memories.memories.findIndex((m) => m.name === memory);
  if (index === state.memory) await pick(row);
  else {
    asked = { row };
    $("memory").value = index;
    await changeAxes();
  }
}

function mark() {
  const found = state.explained;
  map.marks.state = found?.at ?? null;
  map.marks.neighbors = (found?.neighbors ?? []).map((n, i) => ({
    at: n.at, chosen: i === found.followed, fill: state.by === "trust" ? n.trust : null,
  }));
}

function showNothing() {
  state.explained = null;
  mark();
  for (const id of ["neighbors-box", "key-box", "estimates"]) $(id).hidden = true;
  $("state-about").textContent = "This memory has no rows yet.";
  map.draw();
}

function showState(found) {
  const words = found.row === null ? [`Step ${asked.step} of episode ${asked.episode}.`]
    : [`Row ${found.row.toLocaleString("en")}: value ${format(found.value)}, last changed ${found.age.toLocaleString("en")} changes ago.`];
  if (found.action.length) words.push(`The greedy action here is ${actionText(found.action)}.`);
  const chosen = found.neighbors[found.followed];
  if (chosen) words.push(`It follows row ${chosen.row.toLocaleString("en")}, whose value is ${format(chosen.value)}.`);
  $("state-about").textContent = words.join(" ");
  $("estimates").hidden = !found.estimates.length;
  const best = Math.max(...found.estimates.map((e) => e ?? -Infinity));
  const first = found.estimates.findIndex((e) => e === best);
  $("estimates").replaceChildren(...found.estimates.map((e, i) => element("li", {
    textContent: `action ${i}: ${format(e)}`, className: i === first ? "chosen" : "",
  })));
  neighborTable($("neighbors"), found, severalMemories(), pickRow);
  $("neighbors-box").hidden = !found.neighbors.length;
  $("key").textContent = found.key.map((v) => format(v, 4)).join(", ");
  $("key-box").hidden = false;
}

// ---------------------------------------------------------------- a greedy episode

function stopEpisode() {
  state.playing = false;
  state.episode = null;
  state.step = 0;
  map.marks.path = null;
  $("play").textContent = "Play";
  if (state.about.no_replay) return;
  $("stage").hidden = true;
  $("step").disabled = true;
  $("replay-about").textContent = "Play a greedy episode of this checkpoint to see which row it follows in each step.";
}

async function loadEpisode(number) {
  stopEpisode();
  $("episode").value = number;
  const episode = { number, steps: [], returns: [], frames: 0, done: false, error: "" };
  state.episode = episode;
  $("replay-about").textContent = "Starting the task…";
  await pollEpisode(episode);
}

async function pollEpisode(episode) {
  const found = await ask("replay", { checkpoint: state.checkpoint, episode: episode.number, since: episode.steps.length });
  if (state.episode !== episode) return;
  episode.steps.push(...found.new);
  Object.assign(episode, { ...found, steps: episode.steps });
  if (episode.error) throw new Error(episode.error);
  $("step").max = Math.max(episode.steps.length - 1, 0);
  describeEpisode(episode);
  if (episode.steps.length) {
    $("stage").hidden = false;
    $("step").disabled = false;
  }
  if (!episode.done) setTimeout(() => pollEpisode(episode).catch(complain), POLL_MS);
  else {
    drawSteps();
    showFacts(episode, state.step);
    await loadPath();
    map.drawOverlay();
  }
}

function describeEpisode({ done, steps, total, success, ended }) {
  const words = { true: "success", false: "no success", null: "no success signal" };
  $("replay-about").textContent = done
    ? `${steps.length.toLocaleString("en")} steps, return ${format(total, 4)}, ${words[success]}${ended === "ended" ? "" : `, ${ended}`}.`
    : `Playing: ${steps.length.toLocaleString("en")} steps so far…`;
}

async function loadPath() {
  const episode = state.episode;
  map.marks.path = null;
  if (!episode?.steps.length) return;
  const answer = await ask("path", { ...here(), episode: episode.number }, "binary");
  const n = answer.byteLength / 8, x = new Float32Array(answer, 0, n), y = new Float32Array(answer, 4 * n, n);
  map.marks.path = Array.from(x, (v, i) => [v, y[i]]);
  map.marks.step = state.step;
}

function drawSteps() {
  const { steps, returns } = state.episode;
  drawChart($("chart"), steps.map((s) => s.followed?.value ?? null), returns, state.step);
}

function showStep(step, kind = "step") {
  const episode = state.episode;
  if (!episode?.steps.length) return Promise.resolve();
  step = Math.min(Math.max(step, 0), episode.steps.length - 1);
  state.step = map.marks.step = step;
  $("step").value = step;
  showFacts(episode, step);
  showFrame(episode, step);
  drawSteps();
  return interact(kind, (isNewest) => explain({ episode: episode.number, step }, isNewest));
}

function showFacts(episode, step) {
  if (!episode.steps.length) return;
  const { action, reward, followed } = episode.steps[step], returns = episode.returns[step];
  const link = (f) => {
    const made = element("button", { type: "button", className: "link", textContent: f.row.toLocaleString("en") });
    made.addEventListener("click", () => pickRow(f));
    return made;
  };
  facts($("step-facts"), [
    ["step", `${step} of ${episode.steps.length - 1}`],
    ["action", actionText(action)],
    ["reward", format(reward)],
    ...(followed ? [
      ["follows", ["row ", link(followed), ` at distance ${format(followed.distance)}`]],
      ["trust", percent(followed.trust)],
      ["value", format(followed.value)],
    ] : []),
    ["return", returns === undefined ? "known at the end of the episode" : format(returns)],
  ]);
}

function showFrame(episode, step) {
  $("no-frame").hidden = !episode.no_frames;
  $("no-frame").textContent = episode.no_frames;
  $("frame").hidden = Boolean(episode.no_frames);
  if (!episode.no_frames && step < Math.max(episode.frames, 1))
    $("frame").src = `api/frame?${new URLSearchParams({ checkpoint: state.checkpoint, episode: episode.number, step })}`;
}

async function play() {
  if (!state.episode || state.episode.number !== Number($("episode").value))
    await interact("replay", () => loadEpisode(Number($("episode").value) || 0));
  if (!state.episode) return;
  state.playing = !state.playing;
  $("play").textContent = state.playing ? "Pause" : "Play";
  if (state.playing && state.episode.done && state.step >= state.episode.steps.length - 1) state.step = -1;
  if (state.playing) advance();
}

async function advance() {
  const { episode } = state;
  if (!state.playing || !episode) return;
  const begun = performance.now();
  if (state.step < episode.steps.length - 1 || !episode.done) {
    if (state.step < episode.steps.length - 1) await showStep(state.step + 1, "frame");
    else if (state.step === 0 && episode.steps.length === 1) await showStep(0, "frame");
    setTimeout(advance, Math.max(10, FRAME_MS - (performance.now() - begun)));
  } else {
    state.playing = false;
    $("play").textContent = "Play";
  }
}

async function walk(change) {
  state.playing = false;
  $("play").textContent = "Play";
  if (!state.episode) {
    await interact("replay", () => loadEpisode(Number($("episode").value) || 0));
    for (let i = 0; i < 400 && state.episode && !state.episode.steps.length && !state.episode.done; i++)
      await new Promise((done) => setTimeout(done, 50));
    return showStep(0);
  }
  return showStep(state.step + change);
}

// ---------------------------------------------------------------- overestimates

function clearOverestimates() {
  state.overestimated = [];
  state.asking = null;
  $("overestimates-box").hidden = true;
  $("find").disabled = false;
  $("overestimates-about").textContent = "Compares the value of each row that greedy episodes follow with the discounted return received from that step on.";
}

async function findOverestimates() {
  clearOverestimates();
  const turn = (state.asking = {});
  $("find").disabled = true;
  await interact("overestimates", () => pollOverestimates(turn));
}

async function pollOverestimates(turn) {
  if (state.asking !== turn) return;
  const found = await ask("overestimates", { checkpoint: state.checkpoint, episodes: $("n-episodes").value });
  if (state.asking !== turn) return;
  if (found.error) {
    $("find").disabled = false;
    throw new Error(found.error);
  }
  if (found.done < found.of) {
    $("overestimates-about").textContent = `Playing greedy episodes: ${found.done} of ${found.of}…`;
    setTimeout(() => pollOverestimates(turn).catch(complain), POLL_MS);
    return;
  }
  $("find").disabled = false;
  showOverestimates(found);
}

function showOverestimates(found) {
  const solved = found.episodes.filter((e) => e.success).length, known = found.episodes.some((e) => e.success !== null);
  const count = (n) => n.toLocaleString("en");
  const words = [
    `${found.of} greedy ${found.of === 1 ? "episode" : "episodes"}${known ? ` (${solved} solved)` : ""} followed ${count(found.n_rows)} ${found.n_rows === 1 ? "row" : "rows"}.`,
    `${found.n_overestimated ? count(found.n_overestimated) : "None"} of the values ${found.n_overestimated > 1 ? "exceed" : "exceeds"} the return by more than 5% of the range of values.`,
  ];
  if (found.n_overestimated) words.push("The map shows them with a ring.");
  if (found.rows.length < found.n_rows) words.push(`The ${found.rows.length} largest differences are listed.`);
  $("overestimates-about").textContent = words.join(" ");
  overestimateTable($("overestimate-table"), found, severalMemories(), pickRow, showMoment);
  $("overestimates-box").hidden = !found.rows.length;
  state.overestimated = found.rows.filter((r) => r.overestimated);
  markBroken();
  map.drawOverlay();
}

function markBroken() {
  const name = memoryHere().name;
  map.marks.overestimated = state.overestimated.filter((r) => r.memory === name).map((r) => map.indexOf(r.row))
    .filter((i) => i >= 0).map((i) => [map.x[i], map.y[i]]);
}

async function showMoment(episode, step) {
  if (state.episode?.number !== episode) await interact("replay", () => loadEpisode(episode));
  for (let i = 0; i < 1200 && state.episode?.number === episode && state.episode.steps.length <= step && !state.episode.done; i++)
    await new Promise((done) => setTimeout(done, 50));
  await showStep(step);
  $("replay").scrollIntoView({ block: "nearest" });
}

// ---------------------------------------------------------------- pointer and keyboard

const overlay = $("overlay");
let drag = null;

const place = (event) => {
  const box = overlay.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

overlay.addEventListener("pointerdown", (event) => {
  drag = { from: place(event), last: place(event), moved: false };
  overlay.setPointerCapture(event.pointerId);
});
overlay.addEventListener("pointermove", (event) => {
  const at = place(event);
  if (!drag) return hover(at);
  if (drag.moved || Math.hypot(at[0] - drag.from[0], at[1] - drag.from[1]) > 4) {
    drag.moved = true;
    $("plot").classList.add("dragged");
    interact("pan", async () => map.pan(at[0] - drag.last[0], at[1] - drag.last[1]));
    drag.last = at;
  }
});
overlay.addEventListener("pointerup", (event) => {
  const picked = drag && !drag.moved ? map.nearest(...place(event), Infinity) : -1;
  drag = null;
  $("plot").classList.remove("dragged");
  if (picked >= 0) pick(map.rows[picked]);
});
overlay.addEventListener("pointercancel", () => { drag = null; });
overlay.addEventListener("pointerleave", () => { $("tip").hidden = true; });
overlay.addEventListener("wheel", (event) => {
  event.preventDefault();
  interact("zoom", async () => map.zoom(Math.exp(-event.deltaY / 400), ...place(event)));
}, { passive: false });

function hover(at) {
  const found = map.nearest(...at, 12), tip = $("tip");
  tip.hidden = found < 0;
  if (found < 0) return;
  tip.textContent = `row ${map.rows[found].toLocaleString("en")}`;
  const [x, y] = map.toScreen(map.x[found], map.y[found]);
  tip.style.left = `${Math.min(x + 12, map.width - 110)}px`;
  tip.style.top = `${Math.max(y - 30, 4)}px`;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

overlay.addEventListener("keydown", (event) => {
  const direction = ARROWS[event.key];
  if (direction && event.shiftKey) interact("pan", async () => map.pan(-60 * direction[0], 60 * direction[1]));
  else if (direction) {
    const from = state.explained?.at ?? map.center, found = map.next(from, ...direction);
    if (found >= 0) {
      pick(map.rows[found]);
      keepInSight(map.x[found], map.y[found]);
    }
  } else if (event.key === "+" || event.key === "=") zoomBy(1.4);
  else if (event.key === "-") zoomBy(1 / 1.4);
  else if (event.key === "0") showAll();
  else return;
  event.preventDefault();
});

function keepInSight(x, y) {
  const [px, py] = map.toScreen(x, y);
  if (px < 60 || px > map.width - 20 || py < 20 || py > map.height - 40) {
    map.center = [x, y];
    map.draw();
  }
}

const zoomBy = (factor) => interact("zoom", async () => map.zoom(factor));
const showAll = () => interact("zoom", async () => { map.fit(); map.draw(); });

function moveCheckpoint(change) {
  const index = state.checkpoint + change;
  if (index >= 0 && index < state.about.checkpoints.length) openCheckpoint(index);
}

const SHORTCUTS = {
  1: () => colorBy("value"), 2: () => colorBy("age"), 3: () => colorBy("density"), 4: () => colorBy("trust"),
  "[": () => moveCheckpoint(-1), "]": () => moveCheckpoint(1), m: () => overlay.focus(),
  b: () => memoryHere().rows && pick(memoryHere().best),
  "?": () => $("keys").showModal(),
};
const OF_EPISODES = { " ": () => play(), ",": () => walk(-1), ".": () => walk(1), f: () => $("find").disabled || findOverestimates() };

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (target.matches("select, input[type=number]")) return;
  if (event.key === " " && target.matches("button, summary, input")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const action = SHORTCUTS[key] ?? (state.about?.no_replay ? null : OF_EPISODES[key]);
  if (!action || !state.memories) return;
  event.preventDefault();
  action();
});

$("checkpoint").addEventListener("change", () => openCheckpoint(Number($("checkpoint").value)));
$("previous").addEventListener("click", () => moveCheckpoint(-1));
$("next").addEventListener("click", () => moveCheckpoint(1));
$("memory").addEventListener("change", changeMemory);
for (const id of ["x", "y"]) $(id).addEventListener("change", changeAxes);
for (const button of document.querySelectorAll("[data-color]"))
  button.addEventListener("click", () => colorBy(button.dataset.color));
$("zoom-in").addEventListener("click", () => zoomBy(1.4));
$("zoom-out").addEventListener("click", () => zoomBy(1 / 1.4));
$("zoom-all").addEventListener("click", showAll);
$("help").addEventListener("click", () => $("keys").showModal());
$("play").addEventListener("click", play);
$("back").addEventListener("click", () => walk(-1));
$("forward").addEventListener("click", () => walk(1));
$("step").addEventListener("input", () => showStep(Number($("step").value)));
$("episode").addEventListener("change", () => interact("replay", async () => {
  await loadEpisode(Number($("episode").value) || 0);
}));
$("chart").addEventListener("click", (event) => {
  const box = $("chart").getBoundingClientRect();
  showStep(Math.round(((event.clientX - box.left) / box.width) * (state.episode.steps.length - 1)));
});
$("find").addEventListener("click", findOverestimates);
$("frame").addEventListener("load", () => $("frame").classList.toggle("pixels", $("frame").naturalWidth < 200));

start().catch(complain);
