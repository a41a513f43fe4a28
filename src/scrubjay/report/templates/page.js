"use strict";

// What a screen adds to the page: the numbers under the pointer, hiding methods, the choice of the
// summary and of the quantity, and files of all figures. The state stands in the address
// (#hide=sac&mode=mean&by=memory%2Fsize), so that it can be shared.

const body = document.body;
const state = { hidden: new Set(), mode: "iqm", by: "" };
const quantity = document.getElementById("quantity");

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
  state.by = fields.get("by") ?? "";
}

function writeAddress() {
  const fields = new URLSearchParams();
  for (const label of state.hidden) fields.append("hide", label);
  if (state.mode !== "iqm") fields.set("mode", state.mode);
  if (state.by) fields.set("by", state.by);
  history.replaceState(null, "", "#" + fields);
}

// The charts of a quantity are made when it is chosen for the first time.
function showQuantity() {
  const charts = (kind) => document.querySelectorAll(`#curves ${kind}[data-quantity]`);
  const wanted = (element) => element.dataset.quantity === state.by;
  if (![...charts("div"), ...charts("template")].some(wanted)) state.by = "";
  if (![...charts("div")].some(wanted)) {
    const template = [...charts("template")].find(wanted);
    template.after(template.content.cloneNode(true));
    template.nextElementSibling.querySelectorAll(".chart").forEach(chart);
  }
  for (const element of charts("div")) element.hidden = !wanted(element);
  quantity.value = state.by;
}

function show() {
  body.dataset.mode = state.mode;
  showQuantity();
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

// ---- files

// The rules of the page without those for dark screens and for paper.
function plainRules() {
  const rules = [...document.styleSheets[0].cssRules].filter((rule) => rule.type === 1);
  return rules.map((rule) => rule.cssText).join("\n") + "\ntext { font-family: sans-serif; }";
}

function element(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// A figure as a file of its own, with its title above and its methods below.
function toSvg(figure) {
  const svg = figure.querySelector("svg").cloneNode(true);
  const other = state.mode === "iqm" ? "mean" : "iqm";
  svg.querySelectorAll(`.guide, .hidden, .mode-${other}`).forEach((unseen) => unseen.remove());
  // links would lead nowhere from another folder
  for (const link of svg.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  const { width, height } = figure.querySelector("svg").viewBox.baseVal;
  const caption = figure.querySelector("figcaption > span").textContent.trim();
  const shown = [...svg.querySelectorAll(".series")];
  const below = height + 18 * shown.length;
  shown.forEach((series, i) => {
    const y = height + 18 * i + 8;
    const line = element("g", { class: "series", style: series.getAttribute("style") });
    line.append(element("path", { d: `M12 ${y}H36`, class: "line" }));
    svg.append(line, element("text", { x: 44, y: y + 4 }, series.dataset.series));
  });
  svg.prepend(element("rect", { x: 0, y: -24, width, height: below + 24, fill: "#ffffff" }));
  svg.append(element("text", { x: 8, y: -8 }, caption));
  svg.prepend(element("style", {}, plainRules()));
  svg.setAttribute("viewBox", `0 -24 ${width} ${below + 24}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", below + 24);
  return new XMLSerializer().serializeToString(svg);
}

function csv(rows) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

// Every run at every step; the summary of the seeds in rows of its own ("all").
function chartRows(data) {
  const rows = [["method", "seed", "step", "value", "iqm", "iqm_low", "iqm_high", "standard_error"]];
  for (const [series, mark] of [
    ...data.series.map((one) => [one, ""]),
    ...data.unfinished.map((one) => [one, " (not counted)"]),
  ]) {
    series.steps.forEach((step, i) => {
      series.names.forEach((seed, j) =>
        rows.push([series.label, seed + mark, step, series.seeds[i][j], "", "", "", ""]));
      if (series.iqm && !mark) {
        const [mean, error] = series.mean.map((values) => values[i]);
        rows.push([series.label, "all", step, mean, ...series.iqm.map((v) => v[i]), error]);
      }
    });
  }
  return rows;
}

// The middle of every cell of a memory's map that has rows, and the best value there.
function cellRows(data) {
  const bytes = Uint8Array.from(atob(data.cells), (letter) => letter.charCodeAt(0));
  const steps = new DataView(bytes.buffer);
  const side = Math.sqrt(bytes.length / 2);
  const [left, right, bottom, top] = data.box;
  const [low, high] = data.range;
  const rows = [data.names];
  for (let i = 0; i < side * side; i++) {
    const step = steps.getUint16(2 * i, true);
    if (step === 65535) continue;
    const x = left + (((i % side) + 0.5) / side) * (right - left);
    const y = top - ((Math.floor(i / side) + 0.5) / side) * (top - bottom);
    rows.push([x, y, low + (step / 65534) * (high - low)].map((v) => Number(v.toPrecision(5))));
  }
  return rows;
}

function toCsv(figure) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  if (data.series) return csv(chartRows(data));
  return csv(data.cells ? cellRows(data) : [data.names, ...data.points]);
}

function tableCsv(table) {
  const words = (cell) =>
    cell.querySelector("svg title")?.textContent ??
    // parts that stand below each other are parts of one text
    [...(cell.querySelectorAll("div").length ? cell.querySelectorAll("div") : [cell])]
      .map((part) => part.innerText.trim().replace(/\s+/g, " ")).join("; ");
  return csv([...table.rows].map((row) => [...row.cells].map(words)));
}

function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function exportFrom(button) {
  const kind = button.dataset.export;
  const table = button.closest(".of-table")?.querySelector("table");
  const figure = button.closest("figure");
  const title = table ? table.getAttribute("aria-label") : figure.querySelector("figcaption > span").textContent;
  const name = title.trim().replace(/[^\w.-]+/g, "-").slice(0, 80);
  if (table) download(`${name}.csv`, tableCsv(table), "text/csv");
  else if (kind === "svg") download(`${name}.svg`, toSvg(figure), "image/svg+xml");
  else download(`${name}.csv`, toCsv(figure), "text/csv");
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
quantity.addEventListener("change", () => change(() => (state.by = quantity.value)));
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-export]");
  if (button) exportFrom(button);
});
document.querySelectorAll(".chart").forEach(chart);
readAddress();
show();
body.dataset.ready = "yes";
