// The figures: three panels each, one for each block, redrawn when the page's width changes.
"use strict";

const symbols = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond];

function symbolPath(model, size) {
  return d3.symbol().type(symbols[model % symbols.length]).size(size)();
}

// Lays panels out in `columns` and calls draw(g, block, width, height) for each.
function drawPanels(container, height, draw, blocks = blockNames) {
  const total = Math.max(container.clientWidth, 260);
  const columns = total > 700 ? 3 : 1;
  const margin = {top: 26, right: 14, bottom: 34, left: 44};
  const cell = Math.floor(total / columns), rows = Math.ceil(blocks.length / columns);
  const svg = d3.select(container).html("").append("svg")
      .attr("xmlns", "http://www.w3.org/2000/svg")
      .attr("width", total).attr("height", rows * height)
      .attr("viewBox", `0 0 ${total} ${rows * height}`);
  blocks.forEach((block, i) => {
    const g = svg.append("g").attr("transform",
        `translate(${i % columns * cell + margin.left},${Math.floor(i / columns) * height + margin.top})`);
    g.append("text").attr("class", "panel").attr("y", -11).text(blockTitles[block]);
    draw(g, block, cell - margin.left - margin.right, height - margin.top - margin.bottom);
  });
  return svg;
}

function drawAxes(g, bottom, y, width, height, labels) {
  g.append("g").attr("class", "grid")
      .call(d3.axisLeft(y).ticks(4).tickSize(-width).tickFormat(""))
      .call((grid) => grid.select(".domain").remove());
  g.append("g").attr("transform", `translate(0,${height})`).call(bottom.tickSizeOuter(0));
  g.append("g").call(d3.axisLeft(y).ticks(4).tickSizeOuter(0));
  g.append("text").attr("x", width).attr("y", height + 30).attr("text-anchor", "end").text(labels.x);
  g.append("text").attr("x", width).attr("y", -11).attr("text-anchor", "end").text(labels.y);
}

// Grouped bars of counts, one group a bin and one bar a model. series: [{model, values}].
function drawBars(g, series, edges, width, height, labels, describe) {
  const x = d3.scaleLinear().domain([edges[0], edges[edges.length - 1]]).range([0, width]);
  const y = d3.scaleLinear()
      .domain([0, d3.max(series, (s) => d3.max(s.values)) || 1]).nice().range([height, 0]);
  drawAxes(g, d3.axisBottom(x).ticks(5), y, width, height, labels);
  series.forEach(({model, values}, s) => {
    const bar = (width / values.length - 2) / series.length;
    g.append("g").attr("class", `m${model}`).selectAll("rect").data(values).join("rect")
        .attr("class", "bar-mark")
        .attr("x", (v, i) => x(edges[i]) + 1 + s * bar).attr("width", Math.max(bar, 1))
        .attr("y", (v) => y(v)).attr("height", (v) => height - y(v))
        .append("title").text((v, i) => describe(model, edges[i], edges[i + 1], v));
  });
}

// A line over the layers for each model, with intervals and, small, the heads.
function drawOverLayers(g, block, width, height, label, estimate, heads) {
  const models = d3.range(numbers.models.length);
  const layers = d3.max(models, (m) => layersOf(m, block).length);
  const x = d3.scalePoint().domain(d3.range(1, layers + 1)).range([0, width]).padding(0.5);
  const all = models.flatMap((m) => layersOf(m, block).flatMap(
      (layer) => [estimate(layer).high, ...(heads ? layer.heads.map(heads) : [])]));
  const top = heads ? 1 : d3.max(all) || 1;
  const y = d3.scaleLinear().domain([0, top]).range([height, 0]);
  if (!heads) y.nice();
  drawAxes(g, d3.axisBottom(x), y, width, height, {x: "layer", y: label});
  for (const m of models) {
    const of = g.append("g").attr("class", `m${m}`);
    const shift = (m - (models.length - 1) / 2) * 6;
    const at = (l) => x(l + 1) + shift;
    const data = layersOf(m, block);
    if (heads) {
      data.forEach((layer, l) => of.append("g").selectAll("circle").data(layer.heads).join("circle")
          .attr("class", "head-point").attr("r", 2.5)
          .attr("cx", at(l) + (models.length === 1 ? 9 : 0)).attr("cy", (head) => y(heads(head)))
          .append("title").text((head, h) => `${numbers.models[m].name}, layer ${l + 1}, head ${h + 1}: ${formatPercent(heads(head))}`));
    }
    of.append("path").attr("class", "series")
        .attr("d", d3.line().x((layer, l) => at(l)).y((layer) => y(estimate(layer).value))(data));
    of.selectAll("line.interval").data(data).join("line").attr("class", "interval")
        .attr("x1", (d, l) => at(l)).attr("x2", (d, l) => at(l))
        .attr("y1", (d) => y(estimate(d).low)).attr("y2", (d) => y(estimate(d).high));
    of.selectAll("path.point").data(data).join("path").attr("class", "point")
        .attr("d", symbolPath(m, 56))
        .attr("transform", (d, l) => `translate(${at(l)},${y(estimate(d).value)})`)
        .append("title").text((d, l) => {
          const e = estimate(d);
          return `${numbers.models[m].name}, layer ${l + 1}: ${e.value.toFixed(3)} [${e.low.toFixed(3)}, ${e.high.toFixed(3)}]`;
        });
  }
}

// Models whose α is learned somewhere.
function adaptiveModels() {
  return d3.range(numbers.models.length).filter((m) => blockNames.some(
      (block) => numbers.models[m].config[block + "_attention"].transform === "adaptive"));
}

function drawAlphas(container) {
  const models = adaptiveModels();
  const alphas = (m, block) => headsOf(m, block).map(({data}) => data.alpha);
  const all = models.flatMap((m) => blockNames.flatMap((block) => alphas(m, block)));
  const low = Math.min(1, Math.floor(d3.min(all) * 15) / 15);
  const bins = Math.max(15, Math.ceil((d3.max(all) - low) * 15 + 1e-9));
  const edges = d3.range(bins + 1).map((i) => low + i / 15);
  drawPanels(container, 210, (g, block, width, height) => {
    const series = models.map((model) => {
      const values = new Array(bins).fill(0);
      for (const a of alphas(model, block)) ++values[Math.min(Math.floor((a - low) * 15), bins - 1)];
      return {model, values};
    });
    drawBars(g, series, edges, width, height, {x: "α", y: "heads"},
        (m, from, to, v) => `${numbers.models[m].name}: ${v} heads with α from ${from.toFixed(2)} to ${to.toFixed(2)}`);
  });
}

function drawTrajectories(container) {
  const model = numbers.models.findIndex((m) => m.history);
  const {steps, alpha} = numbers.models[model].history;
  const layers = d3.max(blockNames, (block) => (alpha[block] || []).length);
  // Both ends of this stretch of the scale are visible on light and on dark.
  const colour = (layer) => d3.interpolateViridis(0.3 + 0.5 * layer / Math.max(layers - 1, 1));
  drawPanels(container, 230, (g, block, width, height) => {
    const lines = (alpha[block] || []).flatMap(
        (heads, l) => heads.map((values, h) => ({l, h, values})));
    const x = d3.scaleLinear().domain([0, d3.max(steps)]).range([0, width]);
    const y = d3.scaleLinear().domain(d3.extent([1, 2, ...lines.flatMap((d) => d.values)]))
        .range([height, 0]);
    drawAxes(g, d3.axisBottom(x).ticks(4, "~s"), y, width, height, {x: "updates", y: "α"});
    g.selectAll("path.trajectory").data(lines).join("path").attr("class", "trajectory")
        .attr("stroke", (d) => colour(d.l))
        .attr("d", (d) => d3.line().x((v, i) => x(steps[i])).y((v) => y(v))(d.values))
        .append("title").text((d) => `layer ${d.l + 1}, head ${d.h + 1}: α ${d.values[d.values.length - 1].toFixed(3)} at the end`);
  });
}

function drawDensityHistogram(container) {
  const edges = d3.range(16).map((i) => i / 15);
  drawPanels(container, 210, (g, block, width, height) => {
    const series = d3.range(numbers.models.length).map((model) => {
      const sums = new Array(15).fill(0);
      for (const {data} of headsOf(model, block)) data.densities.forEach((n, i) => { sums[i] += n; });
      const total = d3.sum(sums) || 1;
      return {model, values: sums.map((n) => 100 * n / total)};
    });
    drawBars(g, series, edges, width, height, {x: "density", y: "% of heads × sentences"},
        (m, from, to, v) => `${numbers.models[m].name}: ${v.toFixed(1)} % with density from ${from.toFixed(2)} to ${to.toFixed(2)}`);
  });
}

function drawSupport(container) {
  drawPanels(container, 210, (g, block, width, height) => {
    const series = d3.range(numbers.models.length).map((model) => {
      const heads = headsOf(model, block);
      const sums = heads[0].data.support.map((_, i) => d3.sum(heads, ({data}) => data.support[i]));
      const total = d3.sum(sums) || 1;
      return {model, values: sums.map((n) => 100 * n / total)};
    });
    const edges = d3.range(series[0].values.length + 1).map((i) => i + 0.5);
    drawBars(g, series, edges, width, height, {x: "tokens (last: 33 or more)", y: "% of queries"},
        (m, from, to, v) => `${numbers.models[m].name}: ${v.toFixed(1)} % of queries look at ${from + 0.5} tokens`);
  });
}

function drawDisagreement(container) {
  const model = 0;
  const colour = d3.scaleSequential(d3.interpolateCividis).domain([0, 1]);
  const layers = d3.max(blockNames, (block) => layersOf(model, block).length);
  drawPanels(container, 170, (g, block, width, height) => {
    const gap = 14, size = Math.min((width - gap * (layers - 1)) / layers, height - 10);
    layersOf(model, block).forEach((layer, l) => {
      const heads = layer.disagreement.length, cell = size / heads;
      const of = g.append("g").attr("transform", `translate(${l * (size + gap)},6)`);
      of.selectAll("rect").data(layer.disagreement.flatMap((row, a) => row.map((v, b) => ({a, b, v}))))
          .join("rect").attr("x", (d) => d.b * cell).attr("y", (d) => d.a * cell)
          .attr("width", cell - 0.5).attr("height", cell - 0.5).attr("fill", (d) => colour(d.v))
          .append("title").text((d) => `layer ${l + 1}, heads ${d.a + 1} and ${d.b + 1}: ${d.v.toFixed(3)}`);
      of.append("text").attr("x", size / 2).attr("y", size + 14).attr("text-anchor", "middle")
          .text(`layer ${l + 1}`);
    });
    if (block !== blockNames[0]) return;
    const legend = g.append("g").attr("transform", `translate(0,${size + 30})`);
    legend.selectAll("rect").data(d3.range(0, 1, 0.05)).join("rect")
        .attr("x", (v) => 16 + 80 * v).attr("width", 4.5).attr("height", 8).attr("fill", (v) => colour(v));
    legend.append("text").attr("y", 8).text("0");
    legend.append("text").attr("x", 102).attr("y", 8).text("1");
  });
}

const figures = [
  {
    id: "alpha", title: "α of the heads", draw: drawAlphas, when: () => adaptiveModels().length > 0,
    text: "How many heads have learned which α: 1 is softmax, 2 is sparsemax.",
    more: "Bars are 1/15 wide, as in the paper. α = min + (max − min) σ(a), with a learned for each head.",
  },
  {
    id: "trajectories", title: "α over the training", draw: drawTrajectories,
    when: () => numbers.models.some((m) => m.history),
    text: "A line for each head, darker for lower layers: where it began does not say where it ends.",
    more: "From the validations in the model's metrics.jsonl. Point at a line for its head.",
  },
  {
    id: "density", title: "Density of each layer",
    text: "The share of pairs of tokens with a weight above zero: the mean over heads, and each head as a dot.",
    more: "Weights above zero ÷ pairs that are not masked, over all sentences (micro average). Bars are 95 % intervals over sentences.",
    draw: (container) => drawPanels(container, 230, (g, block, width, height) =>
        drawOverLayers(g, block, width, height, "density", (layer) => layer.density,
            (head) => head.measures.density)),
  },
  {
    id: "densities", title: "Densities of heads in sentences", draw: drawDensityHistogram,
    text: "How often a head is how dense in a sentence: a peak on the right is heads that look at everything.",
    more: "One density for each head and sentence; bars are 1/15 wide, as in the paper.",
  },
  {
    id: "support", title: "How many tokens a query looks at", draw: drawSupport,
    text: "The number of weights above zero, over all queries and heads of a block.",
    more: "Start and end marks count as tokens.",
  },
  {
    id: "diversity", title: "Diversity of the heads of each layer",
    text: "How much the heads of a layer disagree: 0 when all look at the same.",
    more: "Generalised Jensen-Shannon divergence, H(mean of the heads) − mean of H(head), mean over queries, divided by the log of the number of heads. The JSON file also has it divided by the log of the number of keys. Bars are 95 % intervals over sentences.",
    draw: (container) => drawPanels(container, 230, (g, block, width, height) =>
        drawOverLayers(g, block, width, height, "JS ÷ log heads", (layer) => layer.js_by_heads)),
  },
  {
    id: "disagreement", title: "Disagreement between pairs of heads", draw: drawDisagreement,
    text: "Dark pairs look at the same and may be redundant; bright ones have nothing in common.",
    more: "Jensen-Shannon divergence of two heads ÷ log 2, mean over queries; of the first model.",
    when: () => layersOf(0, "encoder")[0].heads.length > 1,
  },
];

// A copy of a figure that looks the same without the page's style sheet.
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const properties = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity",
    "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor", "visibility", "opacity"];
  const from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const property of properties) to[i].setAttribute(property, style.getPropertyValue(property));
    to[i].removeAttribute("class");
  });
  const background = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  background.setAttribute("width", "100%");
  background.setAttribute("height", "100%");
  background.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.insertBefore(background, copy.firstChild);
  return new XMLSerializer().serializeToString(copy);
}

function download(name, url) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

function saveSvg(svg, name) {
  download(name + ".svg", URL.createObjectURL(new Blob([standalone(svg)], {type: "image/svg+xml"})));
}

function savePng(svg, name) {
  const scale = 2, image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = scale * svg.clientWidth;
    canvas.height = scale * svg.clientHeight;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => download(name + ".png", URL.createObjectURL(blob)));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone(svg));
}

function addSaveButtons(parent, svgOf, name) {
  const save = d3.select(parent).append("span").attr("class", "save");
  save.append("button").attr("type", "button").attr("aria-label", `Save ${name} as SVG`).text("SVG")
      .on("click", () => saveSvg(svgOf(), name));
  save.append("span").text(" ");
  save.append("button").attr("type", "button").attr("aria-label", `Save ${name} as PNG`).text("PNG")
      .on("click", () => savePng(svgOf(), name));
}

function drawSyntaxTable(list) {
  if (numbers.relations.length === 0) return;
  const figure = list.append("figure").attr("id", "figure-syntax");
  const caption = figure.append("figcaption");
  caption.append("h3").text("Syntactic relations");
  caption.append("p").text("The best head for each relation, beside always looking at the commonest distance.");
  const table = figure.append("div").attr("class", "table").append("table");
  table.append("thead").append("tr").selectAll("th")
      .data(["relation", "count", "fixed distance", "dependent → head", "by head", "head → dependent", "by head"])
      .join("th").text((d) => d);
  const best = (label, direction) => headsOf(0, "encoder")
      .filter(({data}) => data.syntax && data.syntax[label])
      .sort((a, b) => b.data.syntax[label][direction] - a.data.syntax[label][direction])[0];
  const rows = numbers.relations.filter((r) => r.count >= 20).sort((a, b) => b.count - a.count);
  table.append("tbody").selectAll("tr").data(rows).join("tr").selectAll("td").data((r) => {
    const cells = [r.label, r.count, `${formatPercent(r.baseline)} (${r.offset > 0 ? "+" : ""}${r.offset})`];
    for (const direction of ["to_head", "to_dependent"]) {
      const head = best(r.label, direction);
      cells.push(head ? formatPercent(head.data.syntax[r.label][direction]) : "–",
          head ? `${head.layer + 1}·${head.head + 1}` : "");
    }
    return cells;
  }).join("td").text((d) => d);
}

function drawFigures() {
  const list = d3.select("#figure-list");
  for (const figure of figures) {
    if (figure.when && !figure.when()) continue;
    const element = list.append("figure").attr("id", `figure-${figure.id}`);
    const caption = element.append("figcaption");
    caption.append("h3").text(figure.title);
    const container = element.append("div").node();
    addSaveButtons(caption.node(), () => container.querySelector("svg"), figure.id);
    caption.append("p").text(figure.text);
    const details = caption.append("details");
    details.append("summary").text("Definition");
    details.append("span").text(figure.more);
    figure.redraw = () => figure.draw(container);
    figure.redraw();
  }
  drawSyntaxTable(list);
}

function redrawFigures() {
  for (const figure of figures) {
    if (figure.redraw) figure.redraw();
  }
}
