// Runs every case in one browser, one after another, and says how each went; CONSOLE_ONLY is a part of a case's name.
// With CONSOLE_CORE only those that are marked as such.
import { cases as budgets } from "./budgets.mjs";
import { cases as compose } from "./compose.mjs";
import { launch } from "./kit.mjs";
import { cases as move } from "./move.mjs";
import { cases as operate } from "./operate.mjs";
import { pictures } from "./pictures.mjs";
import { cases as people } from "./people.mjs";
import { cases as push } from "./push.mjs";
import { cases as talk } from "./talk.mjs";

const all = [];
for (const cases of [talk, people, compose, move, push, operate, budgets]) cases((name, run, { core = false } = {}) => all.push({ name, run, core }));
const only = process.env.CONSOLE_ONLY ?? "";
const browser = await launch();
let failed = 0;
if (process.env.CONSOLE_PICTURES) all.splice(0, all.length, { name: "pictures", run: (b) => pictures(b, process.env.CONSOLE_PICTURES) });
for (const { name, run } of all.filter((c) => c.name.includes(only) && (c.core || !process.env.CONSOLE_CORE))) {
  const start = Date.now();
  try {
    await run(browser);
    console.log(`ok   ${((Date.now() - start) / 1000).toFixed(1)} s  ${name}`);
  } catch (err) {
    failed++;
    console.log(`FAIL ${((Date.now() - start) / 1000).toFixed(1)} s  ${name}\n${err.stack}`);
    for (const page of browser.contexts().flatMap((c) => c.pages())) {
      console.log(`a page was at ${page.url()} with:\n${await page.locator("body").innerText({ timeout: 2000 }).catch((e) => e.message)}`);
    }
  }
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
