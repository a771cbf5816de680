// One sentence at a time: tokens on two sides and a line for each weight above zero.
"use strict";

const explorer = {
  sentence: 0,
  block: "encoder",
  unit: "pieces",
  role: "",
  focus: null,  // {side: "queries" or "keys", index}
  pinned: false,  // whether the focus stays when the pointer leaves
  panels: [{model: 0, layer: 0, head: 0}],
};

const rowHeight = 21;

function byId(id) {
  return document.getElementById(id);
}

// The heads that the role filter leaves in a panel: all when none has the role.
function choicesOf(panel) {
  const heads = headsOf(panel.model, explorer.block);
  const fitting = heads.filter(({data}) => hasRole(data, explorer.role));
  return fitting.length > 0 ? fitting : heads;
}

function chosenHead(panel) {
  return layersOf(panel.model, explorer.block)[panel.layer].heads[panel.head];
}

function keepInRange(panel) {
  const choices = choicesOf(panel);
  if (!choices.some(({layer, head}) => layer === panel.layer && head === panel.head)) {
    panel.layer = choices[0].layer;
    panel.head = choices[0].head;
  }
}

// One path for each of ten grades of weight, so that the page stays small however many lines.
function edgePaths(rows, yOf, left, right) {
  const grades = d3.range(10).map(() => []);
  rows.forEach((row, q) => {
    for (const [key, weight] of row) {
      grades[Math.min(Math.floor(weight * 10), 9)].push(edgePath(yOf(q), yOf(key), left, right));
    }
  });
  return grades.map((paths, i) => ({weight: (i + 0.5) / 10, d: paths.join("")}));
}

function edgePath(from, to, left, right) {
  const middle = (left + right) / 2;
  return `M${left},${from}C${middle},${from} ${middle},${to} ${right},${to}`;
}

function drawTokens(svg, labels, side, x, anchor, yOf, onFocus) {
  const g = svg.append("g").attr("class", side);
  g.selectAll("text").data(labels).join("text").attr("x", x).attr("y", (d, i) => yOf(i) + 4.5)
      .attr("text-anchor", anchor).text((d) => d);
  return (width) => g.selectAll("rect").data(labels).join("rect").attr("class", "hit")
      .attr("x", anchor === "end" ? 0 : x - 4).attr("width", anchor === "end" ? x + 4 : width - x + 4)
      .attr("y", (d, i) => yOf(i) - rowHeight / 2).attr("height", rowHeight)
      .on("pointerenter", (d, i) => onFocus({side, index: i}))
      .on("click", (d, i) => onFocus({side, index: i}, true))
      .on("pointerleave", () => onFocus(null));
}

class Panel {
  constructor(element, state, position) {
    this.state = state;
    this.element = d3.select(element).attr("class", `panel m${state.model}`);
    this.position = position;
    this.build();
  }

  build() {
    const head = this.element.append("div").attr("class", "panel-head");
    if (numbers.models.length > 1) {
      head.append("select").attr("aria-label", "Model").attr("class", "model")
          .on("change", (d, i, nodes) => {
            this.state.model = +nodes[i].value;
            this.element.attr("class", `panel m${this.state.model}`);
            drawExplorer();
          })
          .selectAll("option").data(numbers.models).join("option")
          .attr("value", (m, i) => i).text((m) => m.name);
    }
    head.append("select").attr("aria-label", "Layer and head").attr("class", "head")
        .on("change", (d, i, nodes) => {
          [this.state.layer, this.state.head] = nodes[i].value.split("-").map(Number);
          drawExplorer();
        });
    addSaveButtons(head.node(), () => this.element.select("svg.attention").node(), "attention");
    this.element.append("p").attr("class", "evidence");
    this.element.append("svg").attr("class", "attention").attr("xmlns", "http://www.w3.org/2000/svg");
  }

  async draw() {
    const {state} = this;
    keepInRange(state);
    this.fillPicker();
    this.showEvidence();
    const all = await attentionOf(state.model, explorer.sentence);
    const tokens = sentences[explorer.sentence].models[state.model];
    const byWords = explorer.unit === "words";
    const {queries, keys} = sidesOf(tokens, explorer.block, byWords);
    let rows = all[explorer.block][state.layer][state.head];
    if (byWords) rows = groupRows(rows, queries, keys);
    this.rows = rows;
    this.drawAttention(queries.labels, keys.labels);
    this.highlight();
  }

  fillPicker() {
    const {state} = this;
    if (numbers.models.length > 1) this.element.select("select.model").node().value = state.model;
    const picker = this.element.select("select.head");
    picker.selectAll("option").data(choicesOf(state)).join("option")
        .attr("value", (d) => `${d.layer}-${d.head}`)
        .text((d) => `layer ${d.layer + 1}, head ${d.head + 1}` + (roleOf(d.data) ? ` – ${roleOf(d.data)}` : ""));
    picker.node().value = `${state.layer}-${state.head}`;
  }

  showEvidence() {
    const head = chosenHead(this.state);
    const p = this.element.select(".evidence").html("");
    p.append("span").text(`α ${head.alpha.toFixed(3)}, ${formatPercent(head.measures.density)} dense. `);
    if (head.roles.length === 0) {
      p.append("span").text(`It reaches no role's threshold; nearest: ${describeNearest(this.state.model, explorer.block, head)}.`);
      return;
    }
    head.roles.slice(0, 3).forEach((role, i) => {
      p.append("span").text(`${i > 0 ? " Also " : ""}${i > 0 ? role.name : role.name[0].toUpperCase() + role.name.slice(1)}: ` +
          `${describeRole(role)} (threshold ${role.threshold.toFixed(2)}, chance ${role.chance.toFixed(2)}).`);
    });
    for (const [kind, example] of [["fits best", head.roles[0].best], ["fits worst", head.roles[0].worst]]) {
      const index = example ? sentences.findIndex((s) => s.line === example.line) : -1;
      if (index < 0) continue;
      p.append("span").text(" ");
      p.append("button").attr("type", "button").text(`${kind}: line ${example.line} (${example.value.toFixed(2)})`)
          .on("click", () => {
            explorer.sentence = index;
            drawExplorer();
          });
    }
  }

  drawAttention(queryLabels, keyLabels) {
    const svg = this.element.select("svg.attention");
    const width = Math.max(this.element.node().clientWidth, 260);
    const height = Math.max(queryLabels.length, keyLabels.length) * rowHeight + 26;
    const left = Math.round(width * 0.36), right = width - left;
    this.yOf = (i) => 24 + (i + 0.5) * rowHeight;
    Object.assign(this, {left, right, width});
    svg.html("").attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
    const sides = {
      encoder: ["source looks at", "source"], cross: ["target so far looks at", "source"],
      decoder: ["target looks at", "target so far"],
    }[explorer.block];
    svg.append("text").attr("class", "side").attr("x", left - 8).attr("y", 12).attr("text-anchor", "end").text(sides[0]);
    svg.append("text").attr("class", "side").attr("x", right + 8).attr("y", 12).text(sides[1]);
    svg.append("g").attr("class", "edges").selectAll("path")
        .data(edgePaths(this.rows, this.yOf, left, right).filter((grade) => grade.d))
        .join("path").attr("d", (grade) => grade.d)
        .attr("stroke-width", (grade) => 0.6 + 2.6 * grade.weight)
        .attr("stroke-opacity", (grade) => 0.12 + 0.8 * grade.weight);
    svg.append("g").attr("class", "focus");
    const focus = (what, pin) => {
      if (explorer.pinned && !pin) return;
      explorer.pinned = pin ? !(explorer.pinned && sameFocus(explorer.focus, what)) : false;
      explorer.focus = what;
      panels.forEach((panel) => panel.highlight());
    };
    const addQueries = drawTokens(svg, queryLabels, "queries", left - 8, "end", this.yOf, focus);
    const addKeys = drawTokens(svg, keyLabels, "keys", right + 8, "start", this.yOf, focus);
    addQueries(width);
    addKeys(width);
  }

  highlight() {
    const svg = this.element.select("svg.attention"), {focus} = explorer;
    const layer = svg.select("g.focus").html("");
    svg.classed("focused", focus !== null);
    svg.selectAll(".hit").classed("on", false);
    if (!focus || !this.rows) return;
    svg.selectAll(`g.${focus.side} .hit`).classed("on", (d, i) => i === focus.index);
    const edges = [];
    this.rows.forEach((row, q) => row.forEach(([key, weight]) => {
      if ((focus.side === "queries" ? q : key) === focus.index) edges.push({q, key, weight});
    }));
    layer.selectAll("path").data(edges).join("path")
        .attr("d", (e) => edgePath(this.yOf(e.q), this.yOf(e.key), this.left, this.right))
        .attr("stroke-width", (e) => 0.8 + 4 * e.weight);
    const toKeys = focus.side === "queries";
    layer.selectAll("text").data(edges).join("text").attr("class", "weight")
        .attr("x", toKeys ? this.width - 2 : 2).attr("text-anchor", toKeys ? "end" : "start")
        .attr("y", (e) => this.yOf(toKeys ? e.key : e.q) + 4)
        .text((e) => formatWeight(e.weight));
  }
}

function sameFocus(a, b) {
  return a && b && a.side === b.side && a.index === b.index;
}

let panels = [];

function buildPanels() {
  const parent = d3.select("#panels").html("");
  panels = explorer.panels.map((state, i) => new Panel(parent.append("div").node(), state, i));
}

async function drawExplorer() {
  byId("sentence").value = explorer.sentence;
  byId("block").value = explorer.block;
  byId("unit").value = explorer.unit;
  const roles = explorer.panels.flatMap((panel) => rolesIn(panel.model, [explorer.block]));
  byId("role").value = explorer.role;
  fillRoles(byId("role"), [...new Set(roles)].sort());
  explorer.role = byId("role").value;
  await Promise.all(panels.map((panel) => panel.draw()));
}

function unfocus() {
  explorer.focus = null;
  explorer.pinned = false;
}

function goToSentence(index) {
  explorer.sentence = (index + sentences.length) % sentences.length;
  unfocus();
  return drawExplorer();
}

function stepHead(by) {
  for (const panel of explorer.panels) {
    const choices = choicesOf(panel);
    const at = choices.findIndex((c) => c.layer === panel.layer && c.head === panel.head);
    const {layer, head} = choices[(at + by + choices.length) % choices.length];
    Object.assign(panel, {layer, head});
  }
  return drawExplorer();
}

function stepToken(by) {
  const count = panels[0].rows.length;
  const from = explorer.focus && explorer.focus.side === "queries" ? explorer.focus.index : by > 0 ? -1 : count;
  explorer.focus = {side: "queries", index: (from + by + count) % count};
  explorer.pinned = true;
  panels.forEach((panel) => panel.highlight());
}

function chooseBlock(block) {
  explorer.block = block;
  unfocus();
  return drawExplorer();
}

function chooseUnit(unit) {
  explorer.unit = unit;
  unfocus();
  return drawExplorer();
}

const keyActions = {
  ArrowLeft: () => goToSentence(explorer.sentence - 1),
  ArrowRight: () => goToSentence(explorer.sentence + 1),
  ",": () => stepHead(-1),
  ".": () => stepHead(1),
  b: () => chooseBlock(blockNames[(blockNames.indexOf(explorer.block) + 1) % 3]),
  w: () => chooseUnit(explorer.unit === "pieces" ? "words" : "pieces"),
  j: () => stepToken(1),
  k: () => stepToken(-1),
  Escape: () => {
    unfocus();
    panels.forEach((panel) => panel.highlight());
  },
};

function sentenceTitle(sentence) {
  const text = sideOf(sentence.models[0].source, true).labels.slice(0, -1).join(" ");
  return `${sentence.line}: ${text.length > 60 ? text.slice(0, 58) + "…" : text}`;
}

// Shows a head where it does best what it is named for.
async function openInExplorer({model, block, layer, head}) {
  explorer.block = block;
  explorer.role = "";
  byId("role").value = "";
  Object.assign(explorer.panels[0], {model, layer, head});
  const roles = chosenHead(explorer.panels[0]).roles;
  const best = roles.length > 0 && roles[0].best
      ? sentences.findIndex((s) => s.line === roles[0].best.line) : -1;
  if (best >= 0) explorer.sentence = best;
  unfocus();
  buildPanels();
  await drawExplorer();
  byId("explorer").scrollIntoView();
  byId("explorer").focus({preventScroll: true});
}

function setSideBySide(on) {
  const other = numbers.models.length > 1 ? 1 : 0;
  explorer.panels = on
      ? [explorer.panels[0], {...explorer.panels[0], model: explorer.panels[0].model === 0 ? other : 0}]
      : [explorer.panels[0]];
  buildPanels();
  return drawExplorer();
}

function setUpExplorer() {
  d3.select("#sentence").selectAll("option").data(sentences).join("option")
      .attr("value", (d, i) => i).text(sentenceTitle);
  d3.select("#block").selectAll("option").data(blockNames).join("option")
      .attr("value", (d) => d).text((d) => blockTitles[d]);
  byId("sentence").addEventListener("change", (e) => goToSentence(+e.target.value));
  byId("previous").addEventListener("click", () => goToSentence(explorer.sentence - 1));
  byId("next").addEventListener("click", () => goToSentence(explorer.sentence + 1));
  byId("block").addEventListener("change", (e) => chooseBlock(e.target.value));
  byId("unit").addEventListener("change", (e) => chooseUnit(e.target.value));
  byId("role").addEventListener("change", (e) => {
    explorer.role = e.target.value;
    drawExplorer();
  });
  byId("side").addEventListener("change", (e) => setSideBySide(e.target.checked));
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("select, input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = keyActions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  explorer.sentence = thumbnailSentence();
  buildPanels();
  return drawExplorer();
}
