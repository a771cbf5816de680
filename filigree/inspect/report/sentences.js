// The data of the report: numbers, and sentences whose weights are decoded when they are needed.
"use strict";

const numbers = JSON.parse(document.getElementById("numbers").textContent);
const sentences = JSON.parse(document.getElementById("sentence-data").textContent);
const blockNames = ["encoder", "cross", "decoder"];
const blockTitles = {
  encoder: "Encoder self-attention",
  cross: "Cross-attention",
  decoder: "Decoder self-attention",
};

function layersOf(model, block) {
  return numbers.models[model].blocks[block].layers;
}

// Every head of a block: {layer, head, data}.
function headsOf(model, block) {
  return layersOf(model, block).flatMap(
      (layer, l) => layer.heads.map((data, h) => ({layer: l, head: h, data})));
}

function roleOf(head) {
  return head.roles.length > 0 ? head.roles[0].name : "";
}

function rolesIn(model, blocks = blockNames) {
  const roles = blocks.flatMap((block) => headsOf(model, block)).map(({data}) => roleOf(data));
  return [...new Set(roles)].filter((role) => role).sort();
}

// A share with as many digits as it needs.
function formatWeight(weight) {
  return weight >= 0.0005 ? weight.toFixed(3) : weight.toExponential(1);
}

function formatPercent(share) {
  if (share === null) return "–";
  return (100 * share).toFixed(share >= 0.9995 ? 0 : 1) + " %";
}

async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromHalf(half) {
  const exponent = half >> 10, fraction = half & 1023;
  return exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// Reads arrays of 16-bit numbers that are stored as all low bytes, then all high bytes.
class PlaneReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  take(count) {
    const numbers = new Uint16Array(count);
    for (let i = 0; i < count; ++i) {
      numbers[i] = this.bytes[this.at + i] | this.bytes[this.at + count + i] << 8;
    }
    this.at += 2 * count;
    return numbers;
  }
}

const decoded = new Map();

// The weights of a sentence: by block, [layer][head] = rows of [key, weight].
function attentionOf(model, index) {
  const id = `weights-${model}-${index}`;
  if (!decoded.has(id)) decoded.set(id, decodeSentence(model, index, id));
  return decoded.get(id);
}

async function decodeSentence(model, index, id) {
  const {source, target} = sentences[index].models[model];
  const bytes = await inflate(document.getElementById(id).textContent);
  const queries = {
    encoder: source.pieces.length,
    cross: target.pieces.length,
    decoder: target.pieces.length,
  };
  const rowCount = d3.sum(blockNames, (block) => queries[block] * headsOf(model, block).length);
  const reader = new PlaneReader(bytes);
  const sizes = reader.take(rowCount);
  const entries = d3.sum(sizes);
  const keys = reader.take(entries), weights = reader.take(entries);
  let row = 0, entry = 0;
  const attention = {};
  for (const block of blockNames) {
    attention[block] = layersOf(model, block).map((layer) => layer.heads.map(() => {
      const rows = [];
      for (let q = 0; q < queries[block]; ++q, ++row) {
        const pairs = [];
        for (const end = entry + sizes[row]; entry < end; ++entry) {
          pairs.push([keys[entry], fromHalf(weights[entry])]);
        }
        rows.push(pairs);
      }
      return rows;
    }));
  }
  return attention;
}

// What stands on the two sides of a block: {queries, keys}, each {labels, groups}, where groups
// gives the row or column of every piece.
function sidesOf(sentence, block, byWords) {
  const source = sideOf(sentence.source, byWords), target = sideOf(sentence.target, byWords);
  return {
    queries: block === "encoder" ? source : target,
    keys: block === "decoder" ? target : source,
  };
}

function sideOf(tokens, byWords) {
  const text = (piece) => piece.replace(/▁/g, byWords ? "" : "·");
  const labels = [], groups = [];
  tokens.pieces.forEach((piece, i) => {
    const joins = byWords && i > 0 && tokens.word[i] >= 0 && tokens.word[i] === tokens.word[i - 1];
    if (joins) labels[labels.length - 1] += text(piece);
    else labels.push(text(piece));
    groups.push(labels.length - 1);
  });
  return {labels, groups};
}

// Rows of pieces to rows of groups: the mean over the pieces that look, the sum over those that are
// looked at.
function groupRows(rows, queries, keys) {
  const counts = new Array(queries.labels.length).fill(0);
  queries.groups.forEach((g) => ++counts[g]);
  const grouped = counts.map(() => new Map());
  rows.forEach((row, q) => {
    const group = queries.groups[q];
    for (const [key, weight] of row) {
      const to = keys.groups[key];
      grouped[group].set(to, (grouped[group].get(to) || 0) + weight / counts[group]);
    }
  });
  return grouped.map((row) => [...row].sort((a, b) => a[0] - b[0]));
}
