"""The report in a browser: what it shows is what the program wrote, and its controls work.

Trains two models for a few steps, inspects them, and opens the report in a headless Chromium without
a network. Exit code 77 (skipped) when there is no Chromium.

    report_test.py FILIGREE [REPORT_FOLDER]
"""
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import browser  # noqa: E402

WORDS = {"red": "rot", "house": "haus", "tree": "baum", "old": "alt", "new": "neu", "man": "mann",
         "sees": "sieht", "what": "was", "a": "ein", "the": "der", "dog": "hund", "big": "gross"}


def make_text(folder):
    """Sixty short sentences and questions, word by word."""
    names = list(WORDS)
    source = []
    for i in range(60):
        words = [names[(i * 7 + j * (i % 5 + 1)) % len(names)] for j in range(4 + i % 6)]
        source.append(" ".join(words) + ("?" if i % 4 == 0 else "."))
    target = [" ".join(WORDS[w.strip("?.")] + w[len(w.strip("?.")):] for w in line.split())
              for line in source]
    (folder / "text.en").write_text("\n".join(source) + "\n")
    (folder / "text.de").write_text("\n".join(target) + "\n")


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(cls.temporary.name)
        make_text(folder)
        text = [str(folder / "text.en"), str(folder / "text.de")]
        for attention in ("adaptive", "softmax"):
            cls.filigree("train", "--model", str(folder / attention), "--attention", attention,
                         "--train-sets", *text, "--valid-sets", *text, "--vocab-size", "60",
                         "--encoder-layers", "2", "--decoder-layers", "2", "--d-model", "16",
                         "--d-ff", "16", "--heads", "2", "--max-steps", "4", "--valid-every", "2",
                         "--no-valid-translations", "--stopping-metric", "loss")
        cls.filigree("inspect", "--model", str(folder / "adaptive"), *text, "--compare",
                     str(folder / "softmax"), "--json", str(folder / "numbers.json"),
                     "--attention", str(folder / "attention.jsonl"), "--report",
                     str(folder / "report.html"), "--report-sentences", "12", "--samples", "100")
        cls.report = folder / "report.html"
        cls.numbers = json.loads((folder / "numbers.json").read_text())
        cls.lines = [json.loads(line) for line in (folder / "attention.jsonl").read_text().splitlines()]
        cls.page = browser.Browser()
        cls.page.open(cls.report)

    @classmethod
    def tearDownClass(cls):
        cls.page.close()
        cls.temporary.cleanup()

    @classmethod
    def filigree(cls, *arguments):
        subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL if arguments[0] == "train" else None)

    def setUp(self):
        self.page.evaluate("""
            Object.assign(explorer, {sentence: 0, block: "encoder", unit: "pieces", role: "",
                                     panels: [{model: 0, layer: 0, head: 0}]});
            unfocus();
            buildPanels();
            drawExplorer()""")

    def tearDown(self):
        self.assertEqual(self.page.errors, [])

    # Tokens on both sides of the explorer that are drawn at all.
    VISIBLE_TOKENS = """["queries", "keys"].map((side) =>
        [...document.querySelectorAll(`g.${side} text`)].filter((e) => e.getBoundingClientRect().width > 0).length)"""

    def texts(self, selector):
        return self.page.evaluate(
            f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)")

    def test_holds_the_numbers_of_the_json_file(self):
        self.assertEqual(self.page.evaluate("numbers"), self.numbers)

    def test_shows_the_findings(self):
        self.assertEqual(self.texts("#finding-list h3"),
                         [finding["title"] for finding in self.numbers["findings"]])
        self.assertEqual(self.texts("#finding-list p"),
                         [finding["text"] for finding in self.numbers["findings"]])

    def test_draws_every_figure_with_the_numbers(self):
        self.assertEqual(self.page.evaluate("figures.filter((f) => f.redraw).length"), 7)
        titles = self.texts("#figure-density path.point title")
        expected = []
        for block in ("encoder", "cross", "decoder"):
            for model in self.numbers["models"]:
                for i, layer in enumerate(model["blocks"][block]["layers"]):
                    d = layer["density"]
                    expected.append(f"{model['name']}, layer {i + 1}: {d['value']:.3f} "
                                    f"[{d['low']:.3f}, {d['high']:.3f}]")
        self.assertEqual(titles, expected)

    def test_shows_every_head_in_the_gallery(self):
        cards = self.texts("#gallery .card")
        model = self.numbers["models"][0]
        heads = [head for block in ("encoder", "cross", "decoder")
                 for layer in model["blocks"][block]["layers"] for head in layer["heads"]]
        self.assertEqual(len(cards), len(heads))
        for card, head in zip(cards, heads):
            self.assertIn(f"α {head['alpha']:.2f}", card)
        drawn = self.page.evaluate(
            "[...document.querySelectorAll('#gallery canvas')].every((c) => c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data.some((v) => v > 0))")
        self.assertTrue(drawn)

    def test_decodes_the_weights_that_the_json_lines_have(self):
        shown = self.page.evaluate("sentences.map((s) => s.line)")
        self.assertGreaterEqual(len(shown), 12)
        for index, line in enumerate(shown):
            expected = self.lines[line - 1]
            self.assertEqual(expected["line"], line)
            decoded = self.page.evaluate(f"attentionOf(0, {index})")
            for block in ("encoder", "cross", "decoder"):
                for layer, heads in enumerate(expected[block]):
                    for head, rows in enumerate(heads):
                        for query, flat in enumerate(rows):
                            pairs = decoded[block][layer][head][query]
                            self.assertEqual([p[0] for p in pairs], flat[0::2])
                            for (_, weight), truth in zip(pairs, flat[1::2]):
                                self.assertTrue(math.isclose(weight, truth, rel_tol=6e-4, abs_tol=6e-8))

    def test_pointing_at_a_token_shows_its_exact_weights(self):
        self.page.point_at("g.queries .hit", 1)
        self.page.settle()
        line = self.page.evaluate("sentences[0].line")
        flat = self.lines[line - 1]["encoder"][0][0][1]
        expected = [f"{w:.3f}" for w in flat[1::2] if w >= 0.0005]
        self.assertEqual([t for t in self.texts(".weight") if "e" not in t], expected)

    def test_words_add_up_to_one_as_pieces_do(self):
        self.page.choose("#unit", "words")
        self.page.settle()
        words = self.page.evaluate("panels[0].rows.map((row) => d3.sum(row, (p) => p[1]))")
        for total in words:
            self.assertAlmostEqual(total, 1, places=2)
        labels = self.texts("g.queries text")
        self.assertEqual(len(labels), len(words))
        self.assertIn(labels[0], {*WORDS, *(w.capitalize() for w in WORDS)})

    def test_pickers_change_what_is_drawn(self):
        before = self.page.evaluate("document.querySelector('.edges').innerHTML")
        self.page.choose("select.head", "1-1")
        self.page.settle()
        self.assertNotEqual(self.page.evaluate("document.querySelector('.edges').innerHTML"), before)
        self.page.choose("#block", "cross")
        self.page.settle()
        self.assertEqual(self.texts("g.queries text")[0], "<s>")
        self.assertEqual(self.texts("g.keys text")[-1], "</s>")

    def test_keys_step_through_sentences_heads_and_tokens(self):
        state = "[explorer.sentence, explorer.panels[0].layer * 2 + explorer.panels[0].head]"
        self.page.evaluate("document.activeElement.blur()")
        sentence, head = self.page.evaluate(state)
        self.page.press("ArrowRight")
        self.page.press(".")
        self.page.settle()
        count = self.page.evaluate("sentences.length")
        self.assertEqual(self.page.evaluate(state), [(sentence + 1) % count, (head + 1) % 4])
        self.page.press("j")
        self.page.settle()
        self.assertEqual(self.page.evaluate("explorer.focus.index"), 0)
        self.assertGreater(len(self.texts(".weight")), 0)
        self.page.press("Escape")

    def test_two_models_stand_side_by_side(self):
        self.page.evaluate("document.querySelector('#side').click()")
        self.page.settle()
        self.assertEqual(self.page.evaluate("panels.map((p) => p.state.model)"), [0, 1])
        self.assertEqual(self.page.evaluate("document.querySelectorAll('svg.attention').length"), 2)
        self.page.evaluate("document.querySelector('#side').click()")

    def test_a_saved_figure_stands_alone(self):
        saved = self.page.evaluate(
            "(() => { const text = standalone(document.querySelector('#figure-density svg'));"
            "const xml = new DOMParser().parseFromString(text, 'image/svg+xml');"
            "return [xml.querySelector('parsererror') === null, text.includes('var('),"
            "xml.querySelectorAll('path').length]; })()")
        self.assertEqual(saved[:2], [True, False])
        self.assertGreater(saved[2], 3)

    def test_a_figure_saved_as_png_is_a_picture_of_twice_its_size(self):
        size = self.page.evaluate("""
            new Promise((done, fail) => {
              const save = download;
              download = (name, url) => {
                download = save;
                const image = new Image();
                image.onload = () => done([name, image.width, image.height]);
                image.onerror = () => fail(name);
                image.src = url;
              };
              savePng(document.querySelector('#figure-density svg'), 'density');
            })""")
        width, height = self.page.evaluate(
            "(({width, height}) => [width, height])"
            "(document.querySelector('#figure-density svg').getBoundingClientRect())")
        self.assertEqual(size, ["density.png", 2 * width, 2 * height])

    def test_fits_on_paper_without_its_controls(self):
        self.page.set_print(True)
        self.page.resize(700, 1000)
        self.page.settle()
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        shown = self.page.evaluate(
            "[...document.querySelectorAll('.bar, .controls, .save')].filter((e) => e.offsetParent).length")
        visible = self.page.evaluate(self.VISIBLE_TOKENS)
        self.page.set_print(False)
        self.page.resize(1200, 900)
        self.page.settle()
        self.assertLessEqual(wide, 700)
        self.assertEqual(shown, 0)
        self.assertEqual(visible, self.page.evaluate(self.VISIBLE_TOKENS))

    def test_filters_heads_by_their_role(self):
        model = self.numbers["models"][0]
        roles = [[role["name"] for role in head["roles"]] for block in ("encoder", "cross", "decoder")
                 for layer in model["blocks"][block]["layers"] for head in layer["heads"]]
        for name, count in [("-", roles.count([])), *((r, sum(r in head for head in roles))
                                                     for r in {head[0] for head in roles if head})]:
            self.page.choose("#gallery-role", name)
            self.page.settle()
            self.assertEqual(len(self.texts("#gallery .card")), count, name)
        self.page.choose("#gallery-role", "")
        self.page.settle()

    def test_nothing_is_wider_than_a_phone(self):
        self.page.resize(390, 800, mobile=True)
        self.page.settle()
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        visible = self.page.evaluate(self.VISIBLE_TOKENS)
        self.page.resize(1200, 900)
        self.page.settle()
        self.assertLessEqual(wide, 390)
        self.assertEqual(visible, self.page.evaluate(self.VISIBLE_TOKENS))
        self.assertGreater(min(visible), 4)


if __name__ == "__main__":
    if browser.program() is None:
        print("skipped: no chromium (apt-get install chromium)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
