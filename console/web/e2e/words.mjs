// What the page says: the rules of its texts on every page, and a second language without a text of the first.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { api, base, eventually, finished, live, newSession, open, send } from "./kit.mjs";

/** places are the pages, with what is there when one is shown. */
export const places = (id) => [
  ["/sessions", "[data-session]"], ["/", "form.prompt"], [`/s/${id}`, ".entry.assistant"], ["/inbox", "h1"], ["/jobs", "h1"], ["/events", "[data-event]"], ["/usage", "[data-used]"],
  ["/extensions", "[data-module]"], ["/runtimes", "[data-runtime]"], ["/settings", ".items li"], ["/settings/notifications", ".items li"], ["/settings/people", "form"], ["/settings/projects", "form"], ["/settings/server", "[data-setting]"], ["/there-is-none", "#page a"],
];

/** worked is a session with one command, one changed file and an answer. */
async function worked(title) {
  const id = await newSession(title);
  for (const text of ["MOCK_CMD[echo one]", "MOCK_PATCH[one.txt]"]) {
    await send(id, text);
    const one = await eventually("it asks", async () => (await api("GET", "/api/requests")).data.find((r) => r.threadId === id));
    await api("POST", `/api/approvals/${one.approvalId}/decision`, { decision: "accept" });
    await eventually("the turn is over", async () => (await api("GET", `/api/sessions/${id}?limit=1`)).session.state === "idle");
  }
  return id;
}

/** literals are the texts of a language's table: whole ones, and the fixed parts of those with values. */
function literals(language) {
  const source = readFileSync(new URL(`../src/text/${language}.ts`, import.meta.url), "utf8").replace(/^\s*\/\/.*|\/\*[\s\S]*?\*\//gm, "");
  const whole = [...source.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text);
  const parts = [...source.matchAll(/`([^`]*)`/g)].flatMap(([, text]) => text.split(/\$\{[^}]*\}/)).map((text) => text.trim()).filter((text) => / /.test(text));
  return new Set([...whole, ...parts].map((text) => text.trim()).filter((text) => /\p{L}{3}/u.test(text)));
}

/** shown are the texts of a page that are its own, not those of its data. */
const shown = (page) => page.evaluate(() => {
  const texts = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (!walk.currentNode.parentElement.closest("code, pre, script, .mono, [lang=en]")) texts.push(walk.currentNode.data);
  for (const one of document.querySelectorAll("[aria-label], [placeholder], [alt]")) for (const name of ["aria-label", "placeholder", "alt"]) texts.push(one.getAttribute(name) ?? "");
  return texts.map((text) => text.trim()).filter(Boolean);
});

export const cases = (test) => {
  // CO-31
  test("every page counts right, and has no text that reads translated", async (browser) => {
    const id = await worked("What the page says");
    const { page, close } = await open(browser, "/");
    for (const [path, there] of places(id)) {
      await page.goto(base + path);
      await live(page);
      await page.locator(there).first().waitFor();
      const text = await page.evaluate(() => document.body.innerText);
      assert.doesNotMatch(text, /\b1 (commands|changes|files|approvals|sessions|requests|comments|lines|steps)\b/, path);
      assert.doesNotMatch(text, /\b(t[o]ld|n[o]body|who[e]ver|goes on|as the system|of it|Nothing fits)\b/i, path);
      assert.doesNotMatch(text, /undefined|NaN|\[object /, path);
    }
    await close();
  });

  // CO-32
  test("in German no text is English, and nothing is wider than a phone", async (browser) => {
    const id = await worked("Auf Deutsch");
    const { page, trouble, close } = await open(browser, "/settings", { locale: "de-DE", viewport: { width: 390, height: 844 } });
    const german = literals("de");
    const english = [...literals("en")].filter((text) => !german.has(text));
    for (const [path, there] of places(id)) {
      await page.goto(base + path);
      await live(page);
      await page.locator(there).first().waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.lang), "de");
      const texts = await shown(page);
      assert.ok(texts.some((text) => german.has(text)), `${path} is not in German: ${texts.slice(0, 20)}`);
      assert.deepEqual(texts.filter((text) => english.some((one) => text === one || (one.includes(" ") && text.includes(one)))), [], path);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${path} is ${wide} px wide`);
    }
    await page.goto(`${base}/settings`);
    await page.getByLabel("Sprache").selectOption("en");
    await page.getByRole("heading", { name: "General", exact: true }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), "en");
    assert.deepEqual(trouble, []);
    await close();
  });
};
