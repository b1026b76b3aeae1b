#!/usr/bin/env python3
"""Tests the page of `allomon flame` in a real browser, with mouse and keys.

Clicks and keys are input events of the browser, not calls of the page's functions.  What is drawn
is read from the canvas, what is written from the document."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from browser import Browser

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
MAKE_PAGES = os.path.join(RUNFILES, "tests/flame/make_pages")
ROW = 21  # pixels
# Waits until what was asked for is painted, and moves of the mouse have arrived.  A browser without
# a screen sometimes paints no frame for a minute on a busy machine; what comes after says then
# whether the page is as it should be.
FRAMES = (
    "new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(() => done(1)));"
    " setTimeout(() => done(0), 10000); })"
)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        subprocess.run([MAKE_PAGES, cls.folder], check=True, capture_output=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, name, **how):
        self.path = os.path.join(self.folder, name + ".html")
        self.browser.open(self.path, **how)

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])
        self.assertEqual(self.browser.requests, ["file://" + self.path])

    # --- What is seen ---

    def run_(self, script):
        return self.browser.run(script)

    def text(self, selector):
        return self.browser.text(selector)

    def crumbs(self):
        return self.run_("[...document.querySelectorAll('#crumbs button')].map(b => b.textContent)")

    def rows(self):
        return self.run_(
            "[...document.querySelectorAll('#table tbody tr')].map(row => "
            "[...row.cells].map(cell => cell.textContent))"
        )

    def point(self, share, row):
        """A point of the flame graph: a share of its width, and a row from 0."""
        self.run_("document.querySelector('#flame').scrollIntoView({block: 'center'})")
        self.run_(FRAMES)  # so that what scrolling lays out anew is where it stays
        frame = self.run_(
            "(() => {const r = document.querySelector('#flame').getBoundingClientRect();"
            "return [r.left, r.top, r.width]})()"
        )
        return frame[0] + share * frame[2], frame[1] + (row + 0.5) * ROW

    def click(self, share, row):
        self.browser.click(*self.point(share, row))

    def hover(self, share, row):
        self.browser.mouse("mouseMoved", *self.point(share, row))
        self.run_(FRAMES)
        return self.text("#tooltip")

    def color(self, share, row):
        """Red, green, blue of what is painted, where no letter is: at the lower edge."""
        self.run_(FRAMES)
        return self.run_(
            "(canvas => [...canvas.getContext('2d').getImageData("
            f"Math.floor({share} * canvas.width), {row} * {ROW} + {ROW - 3}, 1, 1).data]"
            ".slice(0, 3))(document.querySelector('#flame'))"
        )

    def press(self, *keys):
        for key in keys:
            self.browser.key(key)

    # --- A small profile, of which all amounts are known (make_pages.cc) ---

    def test_totals_are_those_of_the_profile(self):
        self.open("small")
        tiles = "[...document.querySelectorAll('.metric')].map(t => t.textContent)"
        self.assertEqual(
            self.run_(tiles),
            ["Allocated9.8 KiBbytes", "Peak7.8 KiBbytes", "Live2.9 KiBbytes", "Temporary0 Bbytes"],
        )
        self.press("b")
        self.assertIn("Allocated8", self.run_(tiles)[0])

    def test_table_has_self_and_total_and_counts_recursion_once(self):
        self.open("small")
        self.assertEqual(
            [row[:6] for row in self.rows()],
            [
                ["app::Alpha(int)", "4.9 KiB", "62.5 %", "6.8 KiB", "87.5 %", "exact"],
                ["app::Inner()", "2.0 KiB", "25.0 %", "2.0 KiB", "25.0 %", "exact"],
                ["app::Beta()", "1000 B", "12.5 %", "5.9 KiB", "75.0 %", "exact"],
                ["main", "0 B", "0.0 %", "7.8 KiB", "100.0 %", "exact"],
            ],
        )
        self.run_("document.querySelectorAll('#table thead button')[0].click()")
        self.assertEqual([row[0][-7:] for row in self.rows()][0], "ha(int)")
        self.run_("document.querySelectorAll('#table thead button')[2].click()")
        self.assertEqual(self.rows()[0][0], "main")

    def test_click_zooms_and_escape_goes_back(self):
        self.open("small")
        self.click(0.9, 2)
        self.assertEqual(self.crumbs(), ["all", "main", "app::Alpha"])
        self.assertIn("app::Inner()", self.hover(0.1, 3))
        self.press("Escape")
        self.assertEqual(self.crumbs(), ["all"])
        self.click(0.1, 3)
        self.assertEqual(self.crumbs(), ["all", "main", "app::Beta", "app::Alpha"])
        self.click(0.5, 1)
        self.assertEqual(self.crumbs(), ["all", "main"])
        self.press("Backspace", "Backspace")
        self.assertEqual(self.crumbs(), ["all"])
        self.click(0.1, 3)
        self.run_("document.querySelector('#crumbs button').click()")
        self.assertEqual(self.crumbs(), ["all"])

    def test_tooltip_has_amounts_place_and_shares(self):
        self.open("small")
        tip = self.hover(0.1, 3)
        for part in "app::Alpha(int)", "a.cc:11", "4.9 KiB", "62.5 %", "83.3 %", "server":
            self.assertIn(part, tip)
        self.assertIn("several lines", self.hover(0.1, 2))
        self.assertIn("inlined", self.hover(0.9, 3))

    def test_search_tells_what_it_found(self):
        self.open("small")
        plain = self.color(0.1, 2)
        self.press("/")
        self.browser.write("alpha")
        self.assertEqual(self.text("#matched"), "6.8 KiB, 87.5 %")
        self.assertEqual(len(self.rows()), 1)
        self.assertNotEqual(self.color(0.1, 2), plain, "what was not found is faded")
        self.press("Escape")
        self.assertEqual(self.text("#matched"), "")
        self.assertEqual(self.color(0.1, 2), plain)
        self.press("/")
        self.browser.write("/^main$|Inner/")
        self.assertEqual(self.text("#matched"), "7.8 KiB, 100.0 %")
        self.press("Escape", "/")
        self.browser.write("/(/")
        self.assertIn("expression", self.text("#matched"))

    def test_inverted_order_and_metric(self):
        self.open("small")
        self.press("i")
        self.assertIn("app::Alpha(int)", self.hover(0.3, 1))
        self.assertIn("app::Beta()", self.hover(0.3, 2))
        self.assertIn("app::Inner()", self.hover(0.7, 1))
        self.press("i", "l")
        self.assertIn("app::Alpha(int)", self.hover(0.1, 2), "by name Alpha is left of Beta")
        self.press("l")
        self.assertIn("app::Beta()", self.hover(0.1, 2))
        self.press("m")
        self.assertIn("all: 2.9 KiB live", self.hover(0.1, 0))
        checked = "document.querySelector('.metric[aria-checked=true]').dataset.metric"
        self.assertEqual(self.run_(checked), "live")
        self.press("m", "m")
        self.assertEqual(self.run_(checked), "alloc")

    def test_zoom_stays_when_the_metric_changes(self):
        self.open("small")
        self.click(0.9, 2)
        self.press("m")
        self.assertEqual(self.crumbs(), ["all", "main", "app::Alpha"])

    def test_keys_move_the_selected_frame(self):
        self.open("small")
        self.press("ArrowDown", "ArrowDown", "ArrowDown")
        self.assertIn("app::Beta(), bytes 5.9 KiB", self.text("#selected"))
        self.press("ArrowRight")
        self.assertIn("app::Alpha(int), bytes 2.0 KiB", self.text("#selected"))
        self.press("ArrowDown", "Enter")
        self.assertEqual(self.crumbs(), ["all", "main", "app::Alpha", "app::Inner"])
        self.press("ArrowUp", "ArrowLeft")
        self.press("Home")
        self.assertEqual(self.crumbs(), ["all"])
        self.assertEqual(self.run_("document.activeElement.id"), "flame")

    def test_keys_reach_every_control(self):
        self.open("small")
        reached = set()
        for _ in range(40):
            self.browser.key("Tab")
            reached.add(self.run_("document.activeElement.id || document.activeElement.tagName"))
        for wanted in "theme", "help-button", "search", "inverted", "by-name", "flame", "BUTTON":
            self.assertIn(wanted, reached)

    def test_help_and_theme(self):
        self.open("small")
        self.press("?")
        self.assertTrue(self.run_("document.querySelector('#help').open"))
        self.press("Escape")
        self.assertFalse(self.run_("document.querySelector('#help').open"))
        light = self.color(0.1, 2)
        self.press("t")
        self.assertLess(sum(self.color(0.1, 2)), sum(light) - 100)
        self.open("small", theme="dark")
        self.assertEqual(self.run_("document.documentElement.dataset.theme"), "dark")

    def test_a_row_highlights_its_function(self):
        self.open("small")
        plain = self.color(0.1, 2)
        self.run_("document.querySelector('#table tbody tr').click()")
        self.assertEqual(self.text("#matched"), "6.8 KiB, 87.5 %")
        self.assertNotEqual(self.color(0.1, 2), plain)
        self.press("Escape")
        self.assertEqual(self.color(0.1, 2), plain)

    def test_a_metric_of_nothing_says_so(self):
        self.open("small")
        self.run_("document.querySelector('.metric[data-metric=temporary]').click()")
        self.assertEqual(self.rows(), [])
        self.assertIn("Nothing", self.text("#table-text"))
        self.press("ArrowDown", "ArrowDown", "Enter", "i", "Escape")

    # --- A server ---

    def test_intervals_are_those_of_cpp(self):
        self.open("server")
        with open(os.path.join(self.folder, "expected.txt"), encoding="utf-8") as file:
            expected = [line.rstrip("\n").split("\t") for line in file]
        compared = 0
        for metric, function, *numbers in expected:
            if function == "":
                number = f"heapPage.profile.metricNames().indexOf('{metric}')"
                self.run_(f"heapPage.choose({{metric: {number}}})")
                figures = {"": self.run_("(t => [t.value, ...t.interval()])(heapPage.totals[0])")}
                rows = self.run_(
                    "heapPage.rows().map(row => [heapPage.profile.name(row.number),"
                    " row.total[0].value, ...row.total[0].interval()])"
                )
                names = [name for name, *_ in rows]
                figures.update((name, row) for name, *row in rows if names.count(name) == 1)
            if function not in figures:
                continue
            compared += 1
            # Variances are written with three digits.
            for one, other in zip(map(float, numbers), figures[function]):
                self.assertAlmostEqual(other / max(one, 1), min(one, 1), delta=5e-3, msg=function)
        self.assertGreater(compared, 50)

    def test_wheel_and_drag_move_what_is_zoomed(self):
        self.open("server")
        x, y = self.point(0.25, 3)
        for _ in range(4):
            self.browser.wheel(x, y, -100, ctrl=True)
        self.browser.wait("document.querySelectorAll('#crumbs button').length > 1")
        span = self.run_("heapPage.chart.span[0]")
        self.browser.drag((x, y), (x - 80, y))
        self.assertGreater(self.run_("heapPage.chart.span[0]"), span)

    def test_a_span_of_the_timeline_is_summed_up(self):
        self.open("server")
        self.run_("scrollTo(0, 0)")
        left, top, width = self.run_(
            "(r => [r.left, r.top, r.width])("
            "document.querySelector('#timeline').getBoundingClientRect())"
        )
        self.browser.drag((left + width * 0.4, top + 50), (left + width * 0.8, top + 50))
        text = self.text("#timeline-text")
        for part in "allocated (", "per second", "at most 1.2 GiB", "samples carry no time":
            self.assertIn(part, text)
        expected = self.run_(
            "formatBytes((s => s.summary(...heapPage.timeline.span).allocated)"
            "(heapPage.timeline.series))"
        )
        self.assertIn(expected + " allocated", text)

    def drag_over(self, begin, end):
        """Drags over a span of the timeline, in seconds."""
        self.run_("scrollTo(0, 0)")
        left, top = self.run_(
            "(r => [r.left, r.top])(document.querySelector('#timeline').getBoundingClientRect())"
        )
        places = [self.run_(f"heapPage.timeline.x({seconds})") for seconds in (begin, end)]
        self.browser.drag((left + places[0], top + 50), (left + places[1], top + 50))
        self.run_(FRAMES)

    def test_a_span_shows_what_is_live_of_its_births(self):
        self.open("births")
        metric = "document.querySelector('.metric[aria-checked=true]').textContent"
        children = (
            "heapPage.view.childrenOf(heapPage.view.childrenOf(heapPage.view.root)[0])"
            ".map(node => [heapPage.profile.name(node.frame >> 1), node.weight])"
        )
        self.assertEqual(self.run_(metric), "Peak15.0 KiBbytes")
        # Ages of 78 to 85 seconds: the class that is met is of 74.9 to 81.7.
        self.drag_over(15, 22)
        self.assertEqual(self.run_(metric), "Born, and live3.0 KiBbytes")
        self.assertIn(
            "Still live of what was born then: 3.0 KiB; the tile *Born, and live* has it. Ages are "
            "known in steps, so this is of births from 15.0 s to 25.1 s.",
            self.text("#timeline-text"),
        )
        visit, index = "app::Visit()", "app::Index(std::string const&)"
        self.assertEqual(self.run_(children), [[index, 2048], [visit, 1024]])
        # So it is with all frames, and from the other side.
        self.press("f")
        self.assertEqual(self.run_(children), [[index, 2048], [visit, 1024]])
        self.press("i")
        self.assertEqual(self.run_("heapPage.view.root.weight"), 3072)
        self.press("i", "f")
        # A later span is another one; two stacks of it are one when they are folded.
        self.drag_over(85, 95)
        self.assertEqual(self.run_(metric), "Born, and live4.0 KiBbytes")
        self.assertEqual(self.run_("heapPage.view.root.weight"), 4096)
        # A span without births, a metric that is chosen meanwhile, and the end of the span.
        self.drag_over(1, 5)
        self.assertEqual(self.run_(metric), "Born, and live0 Bbytes")
        self.run_("document.querySelector('.metric[data-metric=live]').click()")
        self.assertEqual(self.run_(metric), "Live15.0 KiBbytes")
        self.drag_over(40, 70)
        self.assertEqual(self.run_(metric), "Born, and live8.0 KiBbytes")
        self.run_("document.querySelector('#timeline').focus()")
        self.press("Escape")
        self.assertEqual(self.run_(metric), "Live15.0 KiBbytes")
        self.assertIsNone(self.run_("document.querySelector('.metric[data-metric=born]')"))
        self.assertIn("Drag over", self.text("#timeline-text"))

    def test_resident_memory_lies_on_top_of_what_is_live(self):
        self.open("server")
        self.assertNotIn("rest of RSS", self.text("#timeline-legend"))
        self.open("births")
        self.assertIn("rest of RSS (left)", self.text("#timeline-legend"))
        self.run_("scrollTo(0, 0)")
        opacity = (
            "((t, r) => t.context.getImageData("
            "t.x({}) * r, t.y({} / t.mostLive) * r, 1, 1).data[3])"
            "(heapPage.timeline, window.devicePixelRatio)"
        )
        # At 80 s 12,000 bytes are live and 16,000 resident; at 15 s that is not known.
        painted = [self.run_(opacity.format(*at))
                   for at in ((80, 6000), (80, 14000), (80, 17500), (15, 14000), (15, 1000))]
        self.assertEqual([it > 0 for it in painted], [True, True, False, False, True])
        self.run_("document.querySelector('#timeline').focus()")
        self.press("ArrowLeft")
        self.assertIn("; 17.1 KiB resident, 3.9 KiB of it no live blocks.",
                      self.text("#timeline-text"))

    def test_keys_select_a_span_of_the_timeline(self):
        self.open("server")
        self.run_("document.querySelector('#timeline').focus()")
        self.press("ArrowLeft", "ArrowLeft")
        self.assertIn(" allocated so far", self.text("#timeline-text"))
        for _ in range(3):
            self.browser.key("ArrowRight", shift=True)
        self.assertIn("samples carry no time", self.text("#timeline-text"))
        self.press("Escape")
        self.assertIn("Drag over", self.text("#timeline-text"))
        self.press("l")
        self.assertEqual(self.run_("document.querySelector('#by-name').ariaPressed"), "true")

    def test_rows_of_few_samples_are_grey(self):
        self.open("server")
        noise = self.run_("document.querySelectorAll('#table tr.noise').length")
        self.assertIn(f"{noise} of them grey: ", self.text("#table-text"))
        self.assertGreater(noise, 0)

    def test_growth_is_red_and_what_is_equal_is_grey(self):
        self.open("diff")
        tip = self.hover(0.95, 6)
        self.assertIn("index::Buffer::Allocate", tip)
        self.assertIn("0 B → ", tip)
        red, _, blue = self.color(0.95, 6)
        self.assertGreater(red, blue + 60)
        red, green, blue = self.color(0.62, 9)
        self.assertLess(max(red, green, blue) - min(red, green, blue), 25)
        self.run_("document.querySelector('#width-before').click()")
        self.assertIn("all: 1.0 GiB", self.hover(0.1, 0))

    def test_equal_runs_have_no_sure_row(self):
        self.open("equal")
        rows, noise = self.run_(
            "['', '.noise'].map(s => document.querySelectorAll('#table tbody tr' + s).length)"
        )
        self.assertEqual(rows, noise)

    # --- Frames of the library, links, pictures (the page "library") ---

    def amounts(self):
        """{function: [itself, with its callees]} of the table."""
        return {row[0]: [row[1], row[3]] for row in self.rows()}

    def test_frames_of_the_library_are_a_part_of_their_callers(self):
        self.open("library")
        folded = self.amounts()
        self.assertEqual(
            folded,
            {
                "main": ["1.0 KiB", "7.0 KiB"],
                "app::Index(std::string const&)": ["2.0 KiB", "2.0 KiB"],
                "app::Visit()": ["4.0 KiB", "4.0 KiB"],
                "std::thread::run()": ["0 B", "8.0 KiB"],
                "std::vector<int> app::Make<int>()": ["8.0 KiB", "8.0 KiB"],
            },
        )
        self.assertEqual(self.crumbs(), ["all"])
        total = self.run_("heapPage.totals.map(t => [t.value, ...t.interval()])")
        self.press("f")
        shown = self.amounts()
        self.assertEqual(shown["operator new(unsigned long)"], ["15.0 KiB", "15.0 KiB"])
        self.assertEqual(shown["app::Visit()"], ["0 B", "4.0 KiB"])
        self.assertEqual(shown["main"], ["0 B", "7.0 KiB"])
        self.assertEqual(self.run_("heapPage.totals.map(t => [t.value, ...t.interval()])"), total)
        self.press("i")
        self.assertIn("operator new", self.hover(0.5, 1))
        self.run_("document.querySelector('#fold').click()")
        self.assertIn("app::Make", self.hover(0.1, 1))
        self.assertEqual(self.amounts(), folded)

    def test_pages_without_such_frames_have_no_switch(self):
        self.open("small")
        self.assertEqual(self.run_("document.querySelector('#folding').offsetWidth"), 0)
        self.press("f")
        self.assertEqual(len(self.rows()), 4)

    def test_a_link_shows_the_same_page(self):
        self.open("library")
        self.press("f", "i", "l", "m", "/")
        self.browser.write("Visit")
        self.click(0.01, 1)
        crumbs, rows = self.crumbs(), self.rows()
        self.assertEqual(len(crumbs), 2)
        self.run_("document.querySelector('#link-button').click()")
        self.browser.wait("document.querySelector('#link-state').textContent")
        link = self.run_("document.querySelector('#link-text').value")
        self.assertTrue(link.startswith("file://" + self.path + "#metric="), link)
        self.assertEqual(link, self.run_("location.href"))
        self.press("Escape")
        self.open("library")
        self.run_(f"location.hash = {link.split('#')[1]!r}")
        self.browser.wait("document.querySelector('#search').value === 'Visit'")
        self.assertEqual((self.crumbs(), self.rows()), (crumbs, rows))
        for part in "metric=live", "view=callers", "order=name", "std=shown", "search=Visit":
            self.assertIn(part, link)

    def test_fragments_that_are_no_links_change_nothing(self):
        self.open("library")
        rows = self.rows()
        for text in "", "x", "metric=none&zoom=..x.&unit=&widths=both&view=", "%%%", "zoom=1":
            self.run_(f"location.hash = {text!r}")
            self.run_(FRAMES)
            self.assertEqual((self.crumbs(), self.rows()), (["all"], rows))

    def picture(self, where):
        """The rectangles and titles of an SVG; what is no XML has none."""
        return self.run_(
            f"(picture => [picture.querySelectorAll('svg > rect, g > rect').length,"
            " [...picture.querySelectorAll('title')].map(t => t.textContent),"
            f" picture.querySelectorAll('script, parsererror').length])({where})"
        )

    def test_the_picture_has_what_is_seen(self):
        boxes = "heapPage.chart.layout.rows.flat().length"
        parsed = "new DOMParser().parseFromString(heapPage.svgText(), 'image/svg+xml')"
        for name in "library", "hostile", "server", "diff":
            self.open(name)
            rectangles, titles, bad = self.picture(parsed)
            self.assertEqual(rectangles, self.run_(boxes) + 1, "and the background")
            self.assertEqual(bad, 0)
            self.assertTrue(titles[0].startswith("all: "))
        self.open("library")
        titles = self.picture(parsed)[1]
        self.assertTrue(any(title.startswith("app::Visit(), ") for title in titles))
        self.assertNotIn("oklch", self.run_("heapPage.svgText()"), "which few programs know")
        self.run_("document.querySelector('#svg-button').click()")

    def test_what_is_printed_is_light_and_has_the_picture(self):
        self.open("library", theme="dark")
        self.run_("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.run_("document.documentElement.dataset.theme"), "light")
        rectangles, _, bad = self.picture("document.querySelector('#flame-print')")
        self.assertEqual((rectangles, bad), (self.run_(
            "heapPage.chart.layout.rows.flat().length") + 1, 0))
        self.run_("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.run_("document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.picture("document.querySelector('#flame-print')")[0], 0)
        self.assertGreater(len(self.browser.call("Page.printToPDF")["data"]), 1000)

    # --- Names that would rather be code ---

    def test_hostile_names_are_text(self):
        self.open("hostile")
        self.assertNotEqual(self.run_("document.title"), "owned")
        self.assertEqual(self.run_("document.scripts.length"), 2)
        self.assertEqual(self.run_("document.images.length"), 0)
        names = [row[0] for row in self.rows()]
        self.assertIn("</script><script>document.title='owned'</script>", names)
        self.assertIn("\\xff\\xfe\\x1b[31m{{script}}", names)
        self.assertIn("__proto__", names)
        self.assertEqual({row[5] for row in self.rows()}, {""}, "no rate is known")
        for share in 0.1, 0.3, 0.5, 0.7, 0.9:
            self.hover(share, 2)
            self.click(share, 2)
            self.press("Home")
        made = "document.querySelectorAll('#tooltip script, #crumbs img').length"
        self.assertEqual(self.run_(made), 0)

    def test_the_policy_stops_other_scripts(self):
        self.open("small")
        self.run_(
            "(s => {s.textContent = 'globalThis.owned = 1'; document.body.append(s)})"
            "(document.createElement('script'))"
        )
        self.assertIsNone(self.run_("globalThis.owned"))
        self.assertIn("Content Security Policy", " ".join(self.browser.errors))
        self.browser.errors.clear()

    # --- Many stacks ---

    def test_fifty_thousand_stacks(self):
        self.open("large")
        millis = int(self.run_("document.documentElement.dataset.readyMillis"))
        size = os.path.getsize(self.path)
        print(f"50,000 stacks: {size / 1e6:.1f} MB, ready after {millis} ms", file=sys.stderr)
        self.assertLess(millis, 30000)
        self.assertGreater(self.run_("heapPage.profile.amounts(0, 'bytes')[0].nodes.length"), 50000)
        self.assertIn("more frames", self.hover(0.3, 7))
        self.press("i", "l", "m")
        self.assertIn("all: ", self.hover(0.3, 0))


if __name__ == "__main__":
    unittest.main()
