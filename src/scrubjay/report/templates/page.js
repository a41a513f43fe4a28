"use strict";

// What a screen adds to the page: the numbers under the pointer, hiding methods, and the choice of
// the summary. The state stands in the address (#hide=sac&mode=mean), so that it can be shared.

const body = document.body;
const state = { hidden: new Set(), mode: "iqm" };

function format(value) {
  if (Math.abs(value) >= 1e3) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

function readAddress() {
  // an address without "=" is that of a section (#results), and changes nothing here
  if (location.hash && !location.hash.includes("=")) return;
  const fields = new URLSearchParams(location.hash.slice(1));
  state.hidden = new Set(fields.getAll("hide"));
  state.mode = fields.get("mode") === "mean" ? "mean" : "iqm";
}

function writeAddress() {
  const fields = new URLSearchParams();
  for (const label of state.hidden) fields.append("hide", label);
  if (state.mode !== "iqm") fields.set("mode", state.mode);
  history.replaceState(null, "", "#" + fields);
}

function show() {
  body.dataset.mode = state.mode;
  for (const group of document.querySelectorAll(".series"))
    group.classList.toggle("hidden", state.hidden.has(group.dataset.series));
  for (const button of document.querySelectorAll("[data-toggle]"))
    button.setAttribute("aria-pressed", String(!state.hidden.has(button.dataset.toggle)));
  for (const button of document.querySelectorAll("[data-choose]"))
    button.setAttribute("aria-pressed", String(button.dataset.choose === state.mode));
}

function change(action) {
  action();
  writeAddress();
  show();
}

function nearest(steps, x) {
  let best = 0;
  for (let i = 1; i < steps.length; i++)
    if (Math.abs(steps[i] - x) < Math.abs(steps[best] - x)) best = i;
  return best;
}

// One method's numbers at its step nearest to x, as text.
function numbers(series, i) {
  if (state.mode === "mean" && series.mean)
    return `${format(series.mean[0][i])} ± ${format(series.mean[1][i])}`;
  if (series.iqm)
    return `${format(series.iqm[0][i])} [${format(series.iqm[1][i])}, ${format(series.iqm[2][i])}]`;
  return series.seeds[i].map(format).join(", ");
}

function chart(figure) {
  const svg = figure.querySelector("svg");
  const guide = figure.querySelector(".guide");
  const readout = figure.querySelector(".readout");
  const data = JSON.parse(figure.querySelector("script").textContent);
  const [low, high, left, right] = data.x;
  const every = [...new Set(data.series.flatMap((series) => series.steps))].sort((a, b) => a - b);
  let place = -1;

  function line(label, colour, text) {
    const row = document.createElement("div");
    if (colour) {
      const dot = document.createElement("span");
      dot.className = "dot";
      dot.style.setProperty("--hue", colour);
      row.append(dot);
    }
    const name = document.createElement("b");
    name.textContent = label;
    row.append(name, " " + text);
    return row;
  }

  function point(x) {
    if (!every.length) return;
    place = nearest(every, x);
    const step = every[place];
    const rows = [line("step " + step.toLocaleString("en"), "", "")];
    for (const series of data.series) {
      if (state.hidden.has(series.label)) continue;
      const i = nearest(series.steps, step);
      if (series.steps[i] === step) rows.push(line(series.label, series.colour, numbers(series, i)));
    }
    readout.replaceChildren(...rows);
    const at = left + ((step - low) / (high - low)) * (right - left);
    guide.setAttribute("x1", at);
    guide.setAttribute("x2", at);
    guide.style.visibility = readout.style.visibility = "visible";
    const pixels = (at / svg.viewBox.baseVal.width) * figure.clientWidth;
    const room = figure.clientWidth - readout.offsetWidth;
    const wanted = pixels > figure.clientWidth / 2 ? pixels - readout.offsetWidth - 12 : pixels + 12;
    readout.style.left = Math.max(0, Math.min(wanted, room)) + "px";
  }

  function leave() {
    place = -1;
    guide.style.visibility = readout.style.visibility = "hidden";
  }

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    point(low + ((at - left) / (right - left)) * (high - low));
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    point(every[Math.max(0, Math.min(every.length - 1, place + move))]);
  });
}

window.addEventListener("error", (event) => (body.dataset.error = event.message));
window.addEventListener("hashchange", () => (readAddress(), show()));
for (const button of document.querySelectorAll("[data-toggle]")) {
  const label = button.dataset.toggle;
  button.addEventListener("click", () =>
    change(() => state.hidden.delete(label) || state.hidden.add(label)));
}
for (const button of document.querySelectorAll("[data-choose]"))
  button.addEventListener("click", () => change(() => (state.mode = button.dataset.choose)));
document.querySelectorAll(".chart").forEach(chart);
readAddress();
show();
body.dataset.ready = "yes";
