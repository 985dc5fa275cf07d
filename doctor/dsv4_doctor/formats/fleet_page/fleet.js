"use strict";
// All text from machines goes through textContent: it is data, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const ROW = 20;
  const NAMES_SHOWN = 200;
  const STATUS = { f: "fail", u: "unknown", w: "warning", p: "pass", s: "skipped", ".": "no result" };
  const RANK = { fail: 0, unknown: 1, pass: 2 };

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // The hosts, in one array for each thing that is asked of all of them.
  const names = data.hosts.map((host) => host[0]);
  const lower = names.map((name) => name.toLowerCase());
  const failures = data.hosts.map((host) => host[2].split("f").length - 1);
  let chosen = null; // Numbers of the hosts of one group or value, or null for all.
  let shown = []; // Numbers of the hosts in the table, in its order.
  let cursor = 0;

  function head() {
    byId("verdict").textContent = data.verdict;
    byId("verdict").className = data.verdict;
    const when = data.made_at ? `newest facts of ${data.made_at}` : "no facts";
    byId("about").textContent = [data.target, when, `dsv4-doctor ${data.version}`].filter(Boolean).join(" · ");
    for (const [word, count] of Object.entries(data.summary)) {
      if (!count && word !== "hosts") continue;
      const item = element("li");
      item.append(element("b", String(count)), ` ${word}`);
      byId("summary").append(item);
    }
  }

  function pick(numbers, label) {
    const button = element("button", label, "link");
    button.type = "button";
    button.addEventListener("click", () => {
      chosen = new Set(numbers);
      refresh();
      byId("matrix-section").scrollIntoView();
      byId("matrix").focus();
    });
    return button;
  }

  function hostNames(members) {
    const some = members.slice(0, NAMES_SHOWN).map((each) => (typeof each === "number" ? names[each] : each));
    const rest = members.length - some.length;
    return some.join(" ") + (rest > 0 ? ` … and ${rest} more` : "");
  }

  function facts(pairs) {
    const list = element("dl");
    for (const [term, value] of pairs) {
      if (value) list.append(element("dt", term), element("dd", value));
    }
    return list;
  }

  function commands(lines) {
    return lines.length ? [element("pre", lines.join("\n"))] : [];
  }

  function groups() {
    for (const group of data.groups) {
      const members = [...new Set(group.variants.flatMap((variant) => variant.hosts))];
      const box = element("details", undefined, group.status);
      const title = element("summary");
      title.append(element("b", String(members.length)), ` × ${group.title} `, element("code", group.id));
      const body = element("div");
      const numbers = members.filter((each) => typeof each === "number");
      if (numbers.length) body.append(pick(numbers, "show these hosts in the table"));
      for (const variant of group.variants) {
        const list = facts([["found", variant.found], ["expected", variant.expected]]);
        list.append(element("dt", `on ${variant.hosts.length}`), element("dd", hostNames(variant.hosts)));
        body.append(list);
      }
      if (group.remedy) body.append(facts([["do", group.remedy]]));
      body.append(...commands(group.commands));
      box.append(title, body);
      byId("groups").append(box);
    }
    if (!data.groups.length) byId("groups").append(element("p", "Nothing.", "dim"));
  }

  function drift() {
    const table = element("table");
    const top = element("tr");
    for (const title of ["fact", "expected", "hosts", "", "others"]) top.append(element("th", title));
    table.append(top);
    const facts = [...data.drift].sort((a, b) => (b.outliers.length > 0) - (a.outliers.length > 0));
    for (const each of facts) {
      const row = element("tr");
      const cell = element("td");
      const bar = element("div", undefined, "bar");
      const part = element("i");
      part.style.width = `${each.total ? (100 * each.count) / each.total : 0}%`;
      bar.append(part);
      cell.append(bar);
      const others = element("td");
      for (const other of each.outliers) {
        const line = element("div");
        line.append(pick(other.hosts, `${other.value || "(nothing)"}: ${other.hosts.length}`));
        others.append(line);
      }
      row.append(element("td", each.fact), element("td", each.expected), element("td", `${each.count}/${each.total}`), cell, others);
      table.append(row);
    }
    byId("drift").append(data.drift.length ? table : element("p", "No snapshots to compare.", "dim"));
  }

  function documents() {
    const lines = [
      ...data.refused.map(([origin, reason]) => `not read: ${origin}: ${reason}`),
      ...data.duplicates.map(([host, origin, kept]) => `${host}: ${origin} is older than ${kept}`),
    ];
    byId("attention").hidden = !lines.length;
    for (const line of lines) byId("documents").append(element("div", line));
    byId("changed").hidden = !data.changes;
    for (const [word, members] of Object.entries(data.changes || {})) {
      if (word === "since" || !members.length) continue;
      byId("changes").append(facts([[`${word}: ${members.length}`, hostNames(members)]]));
    }
  }

  function controls() {
    for (const check of data.checks) byId("by-check").append(new Option(check, check));
    data.checks.forEach((check, at) => {
      const label = element("span", check);
      label.style.left = `calc(1rem + ${at * 12 + 6}px)`;
      byId("head").append(label);
    });
    for (const id of ["filter", "by-verdict", "by-check", "sort"]) byId(id).addEventListener("input", refresh);
    byId("clear").addEventListener("click", () => {
      chosen = null;
      for (const id of ["filter", "by-verdict", "by-check"]) byId(id).value = "";
      refresh();
    });
  }

  function refresh() {
    const text = byId("filter").value.trim().toLowerCase();
    const verdict = byId("by-verdict").value;
    const check = data.checks.indexOf(byId("by-check").value);
    shown = [];
    for (let at = 0; at < names.length; at += 1) {
      const host = data.hosts[at];
      if (chosen && !chosen.has(at)) continue;
      if (text && !lower[at].includes(text)) continue;
      if (verdict && host[1] !== verdict) continue;
      if (check >= 0 && !"fuw".includes(host[2][check])) continue;
      shown.push(at);
    }
    // The hosts come sorted by name, and the sort is stable.
    if (byId("sort").value === "worst") {
      shown.sort((a, b) => RANK[data.hosts[a][1]] - RANK[data.hosts[b][1]] || failures[b] - failures[a]);
    }
    byId("count").textContent = `${shown.length} of ${names.length} hosts`;
    byId("space").style.height = `${shown.length * ROW}px`;
    cursor = Math.min(cursor, Math.max(shown.length - 1, 0));
    draw();
  }

  function draw() {
    const matrix = byId("matrix");
    const first = Math.max(Math.floor(matrix.scrollTop / ROW) - 5, 0);
    const last = Math.min(first + Math.ceil(matrix.clientHeight / ROW) + 10, shown.length);
    const rows = document.createDocumentFragment();
    for (let at = first; at < last; at += 1) rows.append(row(at));
    byId("rows").style.top = `${first * ROW}px`;
    byId("rows").replaceChildren(rows);
    byId("head").style.transform = `translateX(${-matrix.scrollLeft}px)`;
  }

  function row(at) {
    const [name, verdict, cells, , , problem] = data.hosts[shown[at]];
    const made = element("div", undefined, "row");
    made.id = `row-${at}`;
    made.dataset.at = at;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", String(at === cursor));
    made.setAttribute("aria-label", `${name}: ${verdict}, ${failures[shown[at]]} failed`);
    made.append(element("span", name, `name ${verdict}`));
    if (problem) made.append(element("span", problem, "problem"));
    for (let index = 0; index < cells.length; index += 1) {
      const cell = element("span", undefined, `c ${cells[index] === "." ? "" : cells[index]}`);
      cell.title = `${name}: ${data.checks[index]}: ${STATUS[cells[index]]}`;
      made.append(cell);
    }
    return made;
  }

  function open(at) {
    if (shown[at] === undefined) return;
    const [name, verdict, cells, causes, taken, problem] = data.hosts[shown[at]];
    byId("host-title").textContent = name;
    const body = [facts([["verdict", verdict], ["facts of", taken], ["no report", problem]])];
    const worst = ["fail", "unknown", "warn"];
    const sorted = [...causes].sort((a, b) => worst.indexOf(data.causes[a][1]) - worst.indexOf(data.causes[b][1]));
    for (const number of sorted) {
      const [id, status, title, found, expected, remedy, lines, sources] = data.causes[number];
      const box = element("details", undefined, status);
      box.open = true;
      const top = element("summary");
      top.append(`${status}: ${title} `, element("code", id));
      const inner = element("div");
      inner.append(facts([["found", found], ["expected", expected], ["do", remedy], ["source", sources.join("\n")]]));
      inner.append(...commands(lines));
      box.append(top, inner);
      body.push(box);
    }
    const passed = data.checks.filter((_, index) => cells[index] === "p");
    if (passed.length) body.push(facts([[`passed: ${passed.length}`, passed.join(" ")]]));
    byId("host-body").replaceChildren(...body);
    byId("host").showModal();
  }

  function move(to) {
    cursor = Math.min(Math.max(to, 0), shown.length - 1);
    const matrix = byId("matrix");
    if (cursor * ROW < matrix.scrollTop) matrix.scrollTop = cursor * ROW;
    if ((cursor + 1) * ROW > matrix.scrollTop + matrix.clientHeight) {
      matrix.scrollTop = (cursor + 1) * ROW - matrix.clientHeight;
    }
    draw();
    matrix.setAttribute("aria-activedescendant", `row-${cursor}`);
  }

  function keys(event) {
    const page = Math.floor(byId("matrix").clientHeight / ROW) - 1;
    const to = {
      ArrowDown: cursor + 1, ArrowUp: cursor - 1, PageDown: cursor + page, PageUp: cursor - page,
      Home: 0, End: shown.length - 1,
    }[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter") open(cursor);
    else return;
    event.preventDefault();
  }

  function theme() {
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.classList.toggle("dark", dark);
    byId("theme").addEventListener("click", () => document.documentElement.classList.toggle("dark"));
  }

  function listen() {
    const matrix = byId("matrix");
    matrix.addEventListener("scroll", () => requestAnimationFrame(draw));
    matrix.addEventListener("keydown", keys);
    matrix.addEventListener("click", (event) => {
      const hit = event.target.closest(".row");
      if (!hit) return;
      move(Number(hit.dataset.at));
      open(cursor);
    });
    window.addEventListener("resize", draw);
    byId("close").addEventListener("click", () => byId("host").close());
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) {
        byId("filter").focus();
        event.preventDefault();
      }
    });
  }

  theme();
  head();
  groups();
  drift();
  documents();
  controls();
  listen();
  refresh();
})();
