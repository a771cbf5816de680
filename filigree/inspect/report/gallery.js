// All heads of a model at a glance.
"use strict";

// A sentence that fits into a thumbnail, in the middle of what there is.
function thumbnailSentence() {
  const length = (s) => s.models[0].source.pieces.length;
  const fitting = d3.range(sentences.length)
      .filter((i) => length(sentences[i]) >= 9 && length(sentences[i]) <= 18);
  return fitting.length > 0 ? fitting[0] : 0;
}

// A row for each query, a column for each key; the square root makes small weights visible.
function drawThumbnail(canvas, rows, keys) {
  canvas.width = keys;
  canvas.height = rows.length;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(canvas).getPropertyValue("--c");
  rows.forEach((row, q) => {
    for (const [key, weight] of row) {
      context.globalAlpha = Math.sqrt(weight);
      context.fillRect(key, q, 1, 1);
    }
  });
}

async function drawThumbnails(model) {
  const index = thumbnailSentence();
  const attention = await attentionOf(model, index);
  const {source, target} = sentences[index].models[model];
  document.querySelectorAll("#gallery canvas").forEach((canvas) => {
    const {block, layer, head} = canvas.dataset;
    const keys = (block === "decoder" ? target : source).pieces.length;
    drawThumbnail(canvas, attention[block][layer][head], keys);
  });
}

function fillRoles(select, roles) {
  const options = [["", "any"], ...roles.map((role) => [role, role]), ["-", "none"]];
  const chosen = select.value;
  d3.select(select).selectAll("option").data(options).join("option")
      .attr("value", (d) => d[0]).text((d) => d[1]);
  select.value = options.some((d) => d[0] === chosen) ? chosen : "";
}

function hasRole(head, role) {
  if (role === "") return true;
  if (role === "-") return head.roles.length === 0;
  return head.roles.some((r) => r.name === role);
}

function addCard(parent, model, block, layer, h, head, open) {
  const card = parent.append("button").attr("type", "button").attr("class", `card m${model}`)
      .on("click", () => open({model, block, layer, head: h}));
  card.append("canvas").attr("data-block", block).attr("data-layer", layer).attr("data-head", h)
      .attr("aria-hidden", "true");
  const text = card.append("span");
  text.append("b").text(`Head ${h + 1}`);
  text.append("span").attr("class", head.roles.length > 0 ? "role" : "role none")
      .text(roleOf(head) || "no role");
  text.append("small").text(`α ${head.alpha.toFixed(2)} · ${formatPercent(head.measures.density)} dense`);
  text.append("small").text(
      head.roles.length > 0 ? describeRole(head.roles[0]) : `nearest: ${describeNearest(model, block, head)}`);
}

function describeRole(role) {
  return `${role.evidence.replace(/_/g, " ")} ${role.value.toFixed(3)}`;
}

// The role that a head without one comes closest to, on the way from chance to the threshold.
function describeNearest(model, block, head) {
  const {uniform} = numbers.models[model].blocks[block];
  const near = numbers.role_rules
      .filter((r) => r.blocks.includes(block) && head.measures[r.measure] !== null && uniform[r.measure] < r.threshold)
      .map((r) => ({...r, value: head.measures[r.measure], chance: uniform[r.measure]}))
      .sort((a, b) => share(b) - share(a))[0];
  return near ? `${near.name}, ${near.value.toFixed(2)} of ${near.threshold}` : "none";
}

function share({value, chance, threshold}) {
  return (value - chance) / (threshold - chance);
}

function drawGallery(model, role, open) {
  const gallery = d3.select("#gallery").html("");
  for (const block of blockNames) {
    gallery.append("h3").text(blockTitles[block]);
    layersOf(model, block).forEach((layer, l) => {
      const heads = d3.range(layer.heads.length).filter((h) => hasRole(layer.heads[h], role));
      if (heads.length === 0) return;
      const row = gallery.append("div").attr("class", "gallery-row");
      row.append("span").text(`Layer ${l + 1}`);
      const cards = row.append("div").attr("class", "cards");
      for (const h of heads) addCard(cards, model, block, l, h, layer.heads[h], open);
    });
  }
  return drawThumbnails(model);
}

function setUpGallery(open) {
  const model = document.getElementById("gallery-model");
  const role = document.getElementById("gallery-role");
  d3.select(model).selectAll("option").data(numbers.models).join("option")
      .attr("value", (m, i) => i).text((m) => m.name);
  document.getElementById("gallery-model-label").hidden = numbers.models.length < 2;
  const draw = () => {
    fillRoles(role, rolesIn(+model.value));
    return drawGallery(+model.value, role.value, open);
  };
  model.addEventListener("change", draw);
  role.addEventListener("change", draw);
  return draw();
}
