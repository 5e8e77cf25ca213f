// Runs every case in one browser, one after another, and says how each went; CONSOLE_ONLY is a part of a case's name, or several, parted by |.
// A case that needs what the headless shell lacks is marked as whole and has a browser of its own.
// With CONSOLE_CORE only those that are marked as such; CONSOLE_TIMES is how often each is run, for those that fail now and then.
import { cases as budgets } from "./budgets.mjs";
import { cases as compose } from "./compose.mjs";
import { cases as first } from "./first.mjs";
import { cases as kept } from "./kept.mjs";
import { closed, launch } from "./kit.mjs";
import { cases as move } from "./move.mjs";
import { cases as operate } from "./operate.mjs";
import { pictures } from "./pictures.mjs";
import { cases as people } from "./people.mjs";
import { cases as push } from "./push.mjs";
import { cases as session } from "./session.mjs";
import { cases as shell } from "./shell.mjs";
import { cases as talk } from "./talk.mjs";
import { cases as trouble } from "./trouble.mjs";
import { cases as typing } from "./typing.mjs";
import { cases as words } from "./words.mjs";

const all = [];
for (const cases of [talk, session, shell, typing, trouble, people, compose, move, push, operate, words, first, budgets, kept]) cases((name, run, { core = false, whole = false } = {}) => all.push({ name, run, core, whole }));
const only = (process.env.CONSOLE_ONLY ?? "").split("|");
let [browser, isWhole] = [null, false];
let failed = 0;
if (process.env.CONSOLE_PICTURES) all.splice(0, all.length, { name: "pictures", whole: true, run: (b) => pictures(b, process.env.CONSOLE_PICTURES) });
const times = Number(process.env.CONSOLE_TIMES ?? 1);
const chosen = all.filter((c) => only.some((part) => c.name.includes(part)) && (c.core || !process.env.CONSOLE_CORE));
for (const { name, run, whole } of chosen.flatMap((c) => Array(times).fill(c))) {
  if (!browser || whole !== isWhole) {
    if (browser) await closed(browser);
    [browser, isWhole] = [await launch(whole), whole];
  }
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
  for (const context of browser.contexts()) await closed(context);
  if (browser.contexts().length > 0) {
    console.log("the browser does not close a page; the next case has another browser");
    browser = await launch(isWhole);
  }
}
if (browser) await closed(browser);
process.exit(failed > 0 ? 1 : 0); // whatever browser is left ends with this
