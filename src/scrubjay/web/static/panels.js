// The tables and the chart beside the map.
import { format } from "./map.js";

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function head(names) {
  const cells = names.map(([name, title]) => element("th", { scope: "col", textContent: name, title }));
  return element("thead", {}, element("tr", {}, ...cells));
}

export function percent(value) {
  if (value === null || value === undefined) return format(null);
  return value > 0 && value < 0.005 ? "<1%" : `${Math.round(100 * value)}%`;
}

function share(value) {
  if (value === null) return [format(null)];
  const bar = element("i");
  bar.style.width = `${(100 * Math.min(1, Math.max(0, value))).toFixed(1)}%`;
  return [percent(value), element("span", { className: "share", ariaHidden: "true" }, bar)];
}

export function actionText(action) {
  return action.length ? action.map((x) => format(x)).join(", ") : "–";
}

export function neighborTable(table, found, severalMemories, pick) {
  const names = [
    ["row", "number of the row"], ["distance", "from the state to the row"], ["value", "stored value"],
    ["trust", "how much it counts here"], ["probability", "with which training follows it, when it does not explore"],
    ["action", "stored action"],
  ];
  if (severalMemories) names.unshift(["memory", "name of the memory"]);
  // the one that is followed first, then the nearest
  const order = found.neighbors.map((n, i) => [n, i]).sort((a, b) => (b[1] === found.followed) - (a[1] === found.followed));
  const rows = order.map(([n, i]) => {
    const link = element("button", { type: "button", className: "link", textContent: n.row.toLocaleString("en") });
    link.addEventListener("click", () => pick(n));
    const chosen = i === found.followed;
    const first = element("td", {}, link, ...(chosen ? [element("span", { className: "dot", title: "followed" }, "followed")] : []));
    const cells = [
      first, element("td", { textContent: format(n.distance) }), element("td", { textContent: format(n.value) }),
      element("td", {}, ...share(n.trust)), element("td", {}, ...share(n.probability)),
      element("td", { textContent: actionText(n.action) }),
    ];
    if (severalMemories) cells.unshift(element("td", { textContent: n.memory }));
    const row = element("tr", {}, ...cells);
    row.className = chosen ? "followed" : n.trust === 0 ? "ignored" : "";
    return row;
  });
  table.replaceChildren(head(names), element("tbody", {}, ...rows));
}

// values are stored with 7 digits; a smaller difference says nothing
const rounded = (gap, value) => (Math.abs(gap) < 1e-6 * Math.max(1, Math.abs(value)) ? 0 : gap);

export function overestimateTable(table, found, severalMemories, pick, replay) {
  const names = [
    ["row", "number of the row"], ["value", "of the row"], ["return", "mean discounted return after the row was followed"],
    ["difference", "value minus return"], ["followed", "how many times"], ["distance", "mean distance from the state to the row"],
    ["trust", "mean trust in it"], ["largest at", "the episode and step with the largest difference"],
  ];
  if (severalMemories) names.unshift(["memory", "name of the memory"]);
  const rows = found.rows.map((r) => {
    const link = element("button", { type: "button", className: "link", textContent: r.row.toLocaleString("en") });
    link.addEventListener("click", () => pick(r));
    const where = element("button", { type: "button", className: "link", textContent: `episode ${r.episode}, step ${r.step}` });
    where.addEventListener("click", () => replay(r.episode, r.step));
    const cells = [
      element("td", {}, link),
      ...[r.estimated, r.mean_return].map((v) => element("td", { textContent: format(v) })),
      element("td", { textContent: format(rounded(r.gap, r.estimated)), className: "gap" }),
      ...[r.times, r.distance].map((v) => element("td", { textContent: format(v) })),
      element("td", { textContent: percent(r.trust) }),
      element("td", {}, where),
    ];
    if (severalMemories) cells.unshift(element("td", { textContent: r.memory }));
    const row = element("tr", {}, ...cells);
    row.className = r.overestimated ? "overestimated" : "";
    return row;
  });
  table.replaceChildren(head(names), element("tbody", {}, ...rows));
}

const WIDTH = 400, HEIGHT = 130, PAD = 6;

function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// the values of the followed rows and the returns along the episode, with a line at the step
export function drawChart(chart, estimated, returns, step) {
  const known = [...estimated, ...returns].filter((v) => v !== null && Number.isFinite(v));
  const low = Math.min(0, ...known), top = Math.max(0, ...known), high = top > low ? top : low + 1, n = Math.max(estimated.length - 1, 1);
  const at = (t, v) => `${((t / n) * WIDTH).toFixed(2)} ${(HEIGHT - PAD - ((v - low) / (high - low)) * (HEIGHT - 2 * PAD)).toFixed(2)}`;
  const line = (values) => {
    let text = "", pen = false;
    values.forEach((v, t) => {
      if (v === null) pen = false;
      else { text += `${pen ? "L" : "M"}${at(t, v)}`; pen = true; }
    });
    return text;
  };
  document.getElementById("chart-range").textContent = top > low ? `; from ${format(low)} to ${format(top)}` : known.length ? "; all 0" : "";
  const zero = at(0, Math.max(low, 0)).split(" ")[1], x = (step / n) * WIDTH;
  chart.replaceChildren(
    svg("line", { class: "zero", x1: 0, x2: WIDTH, y1: zero, y2: zero }),
    svg("path", { class: "returns", d: line(returns) }),
    svg("path", { class: "estimated", d: line(estimated) }),
    svg("line", { x1: x, x2: x, y1: 0, y2: HEIGHT }),
  );
}

export function facts(list, entries) {
  list.replaceChildren(...entries.flatMap(([name, value]) => [
    element("dt", { textContent: name }),
    element("dd", {}, ...(Array.isArray(value) ? value : [value])),
  ]));
}
