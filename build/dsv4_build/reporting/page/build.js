"use strict";
// All text of the build goes through textContent: it is data, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 1200, LEFT = 62, RIGHT = 8, ROW = 18, AXIS = 22, MEMORY = 170;
  const GIB = 2 ** 30;

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function shape(tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function time(seconds) {
    if (seconds === null || seconds === undefined) return "";
    if (seconds < 100) return `${seconds.toFixed(1)} s`;
    const minutes = Math.floor(seconds / 60);
    if (minutes < 100) return `${minutes} min ${Math.round(seconds % 60)} s`;
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }

  const memory = (bytes) => (bytes === null || bytes === undefined ? "" : `${(bytes / GIB).toFixed(2)} GiB`);

  const counted = (count, word) => (count ? [String(count), `${word}${count === 1 ? "" : "s"}`] : ["", ""]);

  function head() {
    document.title = `${data.what}: ${data.outcome}`;
    byId("what").textContent = data.what;
    byId("outcome").textContent = data.outcome;
    byId("outcome").className = data.outcome;
    byId("about").textContent = [data.archs.join(" "), data.toolchain, data.started, `dsv4-doctor ${data.version}`]
      .filter(Boolean).join(" · ");
    const peak = Math.max(0, ...data.moments.map((each) => each[1]));
    const limit = Math.max(0, ...data.moments.map((each) => each[2] ?? 0)) || data.memory;
    const facts = [
      [time(data.seconds), "in all"],
      counted(data.units.length, "unit"),
      [time(data.steps.reduce((sum, step) => sum + step.cpu_seconds, 0)), "of CPU"],
      [`${data.jobs} of ${data.cores ?? "?"}`, "processors at most"],
      [peak ? `${memory(peak)} of ${memory(limit)}` : "", "memory in use at most"],
      counted(data.units.reduce((sum, unit) => sum + unit.killed, 0), "killed compiler"),
      counted(data.evictions, "withdrawn compiler"),
      [data.cache && `cache: ${data.cache}`, ""],
    ];
    for (const [value, word] of facts) {
      if (!value) continue;
      const item = element("li");
      item.append(element("b", value), word ? ` ${word}` : "");
      byId("summary").append(item);
    }
    byId("error").textContent = data.error;
    byId("error").hidden = !data.error;
    byId("log").textContent = data.log;
    for (const note of data.notes) byId("notes").append(element("li", note));
  }

  const families = [...new Set(data.units.map((unit) => unit.family))].sort();
  const colour = (family) => `var(--f${families.indexOf(family) % 10})`;

  const spans = data.units.flatMap((unit) => unit.spans);
  const last = Math.max(1, ...spans.map((span) => span.end), ...data.moments.map((each) => each[0]));
  const x = (seconds) => LEFT + (seconds / last) * (WIDTH - LEFT - RIGHT);

  function ticks() {
    const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 36000, 86400];
    const step = steps.find((each) => last / each <= 12) ?? last / 10;
    return Array.from({ length: Math.floor(last / step) + 1 }, (_, at) => at * step);
  }

  function axis(svg, height) {
    for (const at of ticks()) {
      svg.append(shape("line", { x1: x(at), x2: x(at), y1: 0, y2: height, class: "grid" }));
      const anchor = x(at) > WIDTH - 40 ? "end" : "middle";
      svg.append(shape("text", { x: x(at), y: height + 15, "text-anchor": anchor }, time(at).replace(".0 s", " s").replace(" min 0 s", " min")));
    }
  }

  function describe(unit) {
    const parts = [unit.name, `${unit.family}, ${unit.outcome}, ${time(unit.seconds)}`];
    if (unit.expected_seconds !== null) parts.push(`expected ${time(unit.expected_seconds)} (${unit.basis})`);
    if (unit.peak !== null) parts.push(`${memory(unit.peak)}, expected ${memory(unit.expected_peak) || "nothing"}`);
    if (unit.tries > 1 || unit.killed) parts.push(`${unit.tries} tries, killed ${unit.killed} times`);
    return parts.join("\n");
  }

  function tip(target, text) {
    target.addEventListener("pointermove", (event) => {
      const box = byId("tip");
      box.textContent = text();
      box.hidden = false;
      box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
      box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
    });
    target.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  }

  function timeline() {
    const rows = Math.max(1, ...spans.map((span) => span.row + 1));
    const height = rows * ROW;
    const svg = byId("timeline");
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height + AXIS}`);
    axis(svg, height);
    for (let row = 0; row < rows; row += 1) {
      svg.append(shape("text", { x: LEFT - 6, y: row * ROW + 13, "text-anchor": "end" }, `${row + 1}`));
    }
    for (const unit of data.units) {
      for (const span of unit.spans) {
        const width = Math.max(x(span.end) - x(span.start), 1.5);
        const bar = shape("rect", {
          x: x(span.start), y: span.row * ROW + 1, width, height: ROW - 2, rx: 2,
          fill: colour(unit.family), class: `unit ${span.state} ${unit.outcome.replace(" ", "-")}`,
        });
        tip(bar, () => describe(unit));
        svg.append(bar);
        if (width > 60) {
          const name = unit.name.split("/").pop();
          const text = name.slice(0, Math.floor(width / 6.5));
          svg.append(shape("text", { x: x(span.start) + 4, y: span.row * ROW + 13, class: "label" }, text));
        }
      }
    }
    for (const family of families) {
      const item = element("span");
      const key = element("i", "", "key");
      key.style.background = colour(family);
      item.append(key, family);
      byId("legend").append(item);
    }
  }

  function memoryChart() {
    byId("no-memory").hidden = data.moments.length > 0;
    byId("memory-chart").hidden = data.moments.length === 0;
    if (!data.moments.length) return;
    const svg = byId("memory");
    const limits = data.moments.map((each) => each[2] ?? 0);
    const top = Math.max(GIB / 4, ...data.moments.map((each) => each[1]), ...limits) * 1.05;
    const y = (bytes) => MEMORY - (bytes / top) * (MEMORY - 6);
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${MEMORY + AXIS}`);
    axis(svg, MEMORY);
    for (const part of [0.25, 0.5, 0.75, 1]) {
      const at = top * part * 0.95;
      svg.append(shape("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at), class: "grid" }));
      svg.append(shape("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, `${(at / GIB).toFixed(1)} GiB`));
    }
    const first = x(data.moments[0][0]), end = x(data.moments[data.moments.length - 1][0]);
    for (const [at, name] of [[1, "used"], [6, "compilers"]]) {
      const points = data.moments.map((each) => `${x(each[0])},${y(each[at])}`);
      svg.append(shape("polygon", { points: [`${first},${y(0)}`, ...points, `${end},${y(0)}`].join(" "), class: name }));
    }
    const limit = Math.max(...limits);
    if (limit) svg.append(shape("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(limit), y2: y(limit), class: "limit" }));
    let near = data.moments[0];
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const at = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * last;
      near = data.moments.reduce((best, each) => (Math.abs(each[0] - at) < Math.abs(best[0] - at) ? each : best));
    });
    tip(svg, () => `${time(near[0])}: ${memory(near[1])} of ${memory(near[2]) || "an unknown limit"}, `
      + `compilers ${memory(near[6])}\n`
      + `${near[3]} running, ${near[4]} paused, ${near[5]} waiting`);
  }

  function cells(row, values) {
    for (const value of values) {
      row.append(element("td", value, /^[\d.]/.test(value) ? "number" : ""));
    }
    return row;
  }

  function familyTable() {
    const body = byId("families").querySelector("tbody");
    for (const family of families) {
      const units = data.units.filter((unit) => unit.family === family);
      const spent = units.reduce((sum, unit) => sum + (unit.cpu_seconds ?? unit.seconds), 0);
      const longest = Math.max(...units.map((unit) => unit.seconds));
      const peaks = units.map((unit) => unit.peak).filter((peak) => peak !== null);
      const largest = peaks.length ? memory(Math.max(...peaks)) : "";
      body.append(cells(element("tr"), [family, String(units.length), time(spent), time(longest), largest]));
    }
  }

  const order = { key: "seconds", down: true };

  function unitTable() {
    const wanted = byId("filter").value.toLowerCase();
    const shown = data.units.filter((unit) => `${unit.name} ${unit.family}`.toLowerCase().includes(wanted));
    const sign = order.down ? -1 : 1;
    shown.sort((a, b) => {
      const [one, other] = [a[order.key] ?? -1, b[order.key] ?? -1];
      return sign * (typeof one === "string" ? one.localeCompare(other) : one - other);
    });
    byId("units").querySelector("tbody").replaceChildren(...shown.map((unit) => cells(element("tr"), [
      unit.name, unit.family, unit.outcome, time(unit.seconds), time(unit.expected_seconds), memory(unit.peak),
      memory(unit.expected_peak), unit.tries > 1 || unit.killed ? `${unit.tries}, killed ${unit.killed}` : "1",
    ])));
    byId("count").textContent = `${shown.length} of ${data.units.length} units`;
    for (const button of byId("units").querySelectorAll("th button")) {
      const active = button.dataset.key === order.key;
      button.parentElement.setAttribute("aria-sort", active ? (order.down ? "descending" : "ascending") : "none");
    }
  }

  function stepTable() {
    const body = byId("steps").querySelector("tbody");
    for (const step of data.steps) {
      const largest = step.peak_memory ? memory(step.peak_memory) : "";
      body.append(cells(element("tr"), [step.name, step.outcome, time(step.seconds), time(step.cpu_seconds), largest]));
    }
  }

  for (const button of byId("units").querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const text = ["name", "family", "outcome"].includes(button.dataset.key);
      order.down = order.key === button.dataset.key ? !order.down : !text;
      order.key = button.dataset.key;
      unitTable();
    });
  }
  byId("filter").addEventListener("input", unitTable);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== byId("filter")) {
      event.preventDefault();
      byId("filter").focus();
    }
  });
  byId("theme").addEventListener("click", () => document.documentElement.classList.toggle("dark"));
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
  head();
  timeline();
  memoryChart();
  familyTable();
  unitTable();
  stepTable();
})();
