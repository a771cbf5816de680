// Puts the page together.
"use strict";

function drawHeader() {
  const [first] = numbers.models;
  byId("title").textContent = `What ${numbers.models.map((m) => m.name).join(" and ")} look${numbers.models.length > 1 ? "" : "s"} at`;
  document.title = `Attention of ${numbers.models.map((m) => m.name).join(", ")}`;
  byId("subtitle").textContent =
      `${first.sentences.toLocaleString("en")} sentences of ${numbers.source}` +
      (numbers.target ? ` with their translations in ${numbers.target}` : ", translated by the model") +
      `; ${first.source_tokens.toLocaleString("en")} source and ${first.target_tokens.toLocaleString("en")} target pieces.`;
  if (numbers.models.length < 2) return;
  const item = d3.select("#legend").selectAll("li").data(numbers.models).join("li")
      .attr("class", (m, i) => `m${i}`);
  const mark = item.append("svg").attr("width", 34).attr("height", 14);
  mark.append("line").attr("class", "series").attr("x1", 0).attr("x2", 34).attr("y1", 7).attr("y2", 7);
  mark.append("path").attr("class", "point").attr("transform", "translate(17,7)")
      .attr("d", (m, i) => symbolPath(i, 60));
  item.append("span").text((m) => m.name);
}

function drawFindings() {
  const item = d3.select("#finding-list").selectAll("li").data(numbers.findings).join("li");
  item.append("h3").text((f) => f.title);
  item.filter((f) => f.verdict).append("span")
      .attr("class", (f) => `verdict ${f.verdict.startsWith("not") ? "no" : "yes"}`).text((f) => f.verdict);
  item.append("p").text((f) => f.text);
}

function drawDefinitions() {
  const list = d3.select("#definition-list");
  for (const {name, definition} of numbers.measures) {
    list.append("dt").text(name.replace(/_/g, " "));
    list.append("dd").text(definition);
  }
  const table = d3.select("#role-table");
  table.append("tr").selectAll("th").data(["role", "measure", "threshold", "blocks"]).join("th").text((d) => d);
  table.selectAll("tr.rule").data(numbers.role_rules).join("tr").selectAll("td")
      .data((r) => [r.name, r.measure.replace(/_/g, " "), `≥ ${r.threshold}`, r.blocks.join(", ")])
      .join("td").text((d) => d);
  byId("footer").textContent =
      `Made by filigree ${numbers.filigree_version}. Intervals: 95 %, bootstrap over sentences, ${numbers.samples} samples. ` +
      "This file holds all that it shows and needs no network. Figures: D3 (© Mike Bostock, ISC licence).";
}

function setUpTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
    root.dataset.theme = isDark ? "light" : "dark";
    drawThumbnails(+byId("gallery-model").value);
  });
  dark.addEventListener("change", () => drawThumbnails(+byId("gallery-model").value));
}

function redrawOnResize() {
  let width = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    redrawFigures();
    drawExplorer();
  });
}

async function drawReport() {
  drawHeader();
  drawFindings();
  drawFigures();
  drawDefinitions();
  setUpTheme();
  redrawOnResize();
  await Promise.all([setUpGallery(openInExplorer), setUpExplorer()]);
  document.documentElement.dataset.ready = "true";
}

drawReport();
