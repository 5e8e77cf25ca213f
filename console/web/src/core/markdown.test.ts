import { expect, test } from "vitest";
import { Markdown, safeHref } from "./markdown";

const whole = `# A title

Some *text* with \`code\`, a [link](https://example.com/a?b=1) and a line
that goes on.

- one
- two
  - deeper

\`\`\`go
func main() {
	fmt.Println("<b>")
}
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted

1. first
2. second

The end.`;

const shown = (blocks: Markdown["blocks"]) => blocks.map((b) => (b.code === undefined ? b.html : `${b.lang}:${b.code}`));

/** A generator of the same numbers each time. */
function numbers(seed: number) {
  return (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed % below;
  };
}

test("any cutting of a text into pieces gives the blocks of the whole", () => {
  const want = shown(new Markdown().set(whole, true));
  for (let seed = 1; seed <= 60; seed++) {
    const next = numbers(seed);
    const markdown = new Markdown();
    for (let at = 0; at < whole.length; ) {
      at += 1 + next(40);
      markdown.set(whole.slice(0, at), false);
    }
    expect(shown(markdown.set(whole, true)), `seed ${seed}`).toEqual(want);
  }
});

test("a closed block is the same object while the text grows", () => {
  const markdown = new Markdown();
  const before = markdown.set("first\n\nsecond\n\nthi", false)[0];
  expect(markdown.set("first\n\nsecond\n\nthird\n\nfourth", false)[0]).toBe(before);
});

test("a text that is replaced is rendered anew", () => {
  const markdown = new Markdown();
  markdown.set("one\n\ntwo\n\nthree", false);
  expect(shown(markdown.set("other", true))).toEqual(shown(new Markdown().set("other", true)));
});

test("what an agent wrote runs nothing and asks for nothing", () => {
  const hostile = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![p](https://evil.example/p.png)", "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,<script>1</script>)", "<a href='javascript:1'>x</a>", "[x](vbscript:x)",
    '[x](https://a.example/"onmouseover="alert(1))', "<https://ok.example>", "text <svg/onload=alert(1)> text", "[x]( java\nscript:alert(1))",
  ].join("\n\n");
  const html = new Markdown().set(hostile, true).map((b) => b.html).join("\n");
  const tags = [...html.matchAll(/<([a-z]+)([^>]*)>/gi)];
  for (const [tag, name, attributes] of tags) {
    expect(["p", "a", "span", "br", "em", "strong"], tag).toContain(name!.toLowerCase());
    for (const [, attribute, value] of attributes!.matchAll(/([a-z-]+)="([^"]*)"/gi)) {
      expect(["href", "rel", "target", "class"], tag).toContain(attribute);
      if (attribute === "href") expect(value, tag).toMatch(/^(https?:|mailto:)/);
    }
    expect(attributes!.replace(/[a-z-]+="[^"]*"/gi, "").trim(), tag).toBe("");
  }
});

test("links lead to the web or to a mail", () => {
  expect(safeHref(" https://a.example/x ")).toBe("https://a.example/x");
  expect(safeHref("mailto:a@b.example")).toBe("mailto:a@b.example");
  for (const bad of ["javascript:1", "data:text/html,x", "//a.example", "/local", "file:///etc/passwd", "#x"]) expect(safeHref(bad)).toBeNull();
});
