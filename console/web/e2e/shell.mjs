// What stands around the pages: the list, the search, a new session, the archive, sign-in, and what holds on every page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { api, base, closed, eventually, live, newSession, open, pill, quiet, send, token, transcript } from "./kit.mjs";

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const wide = { viewport: { width: 1440, height: 900 } };
const pages = ["/", "/sessions", "/inbox", "/usage", "/runtimes", "/jobs", "/events", "/extensions", "/settings", "/settings/notifications", "/settings/defaults", "/settings/people", "/settings/projects", "/settings/server"];
const idle = (id) => eventually("the turn is over", async () => (await api("GET", `/api/sessions/${id}?limit=1`)).session.state === "idle" && (await transcript(id)).length > 1);
const count = async () => (await api("GET", "/api/sessions?limit=100")).data.length;
const row = (page, id) => page.locator(`.row[data-session="${id}"]`);

/** answered has said a message and has its answer. */
async function answered(title, said) {
  const id = await newSession(title);
  await send(id, said);
  await idle(id);
  return id;
}

export const cases = (test) => {
  test("a new session has the focus where a mouse is; a folder that is not there makes none", async (browser) => {
    const { page, close } = await open(browser, "/", wide);
    const first = page.getByLabel("First message");
    await eventually("the field has the focus", () => first.evaluate((el) => el === document.activeElement));
    await first.fill("Look around");
    const before = await count();
    await page.getByRole("button", { name: /^Folder/ }).click();
    await page.getByRole("combobox", { name: "Folder" }).fill("/there/is/no/such/folder");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator(".prompt").getByRole("alert").waitFor();
    assert.equal(await count(), before, "no session was made");
    assert.equal(await first.inputValue(), "Look around");
    await page.reload();
    assert.equal(await first.inputValue(), "Look around", "the draft survives");
    await first.fill("Fix the flaky login test. It fails at midnight. MOCK_REPLY[here I am]");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/s\/.+/);
    const title = "Fix the flaky login test"; // its first sentence
    await page.locator(".row", { hasText: title }).first().waitFor();
    await page.locator(".head h1", { hasText: title }).waitFor();
    await eventually("the tab has it, too", async () => (await page.title()).includes(`${title} · Harness`));
    assert.equal((await api("GET", `/api/sessions/${page.url().split("/s/")[1]}?limit=1&view=console`)).session.title, title);
    await page.locator(".entry.assistant", { hasText: "here I am" }).waitFor();
    await eventually("the message field has the focus", () => page.getByLabel("Message", { exact: true }).evaluate((el) => el === document.activeElement));
    await close();
    const touch = await open(browser, "/", phone);
    await touch.page.getByLabel("First message").waitFor();
    assert.equal(await touch.page.evaluate(() => document.activeElement?.tagName), "BODY", "no keyboard jumps up");
    await touch.close();
  }, { core: true });

  // WT-37
  test("a new session works in a worktree of its own, on the branch that the page names", async (browser) => {
    const { cwd } = (await api("GET", `/api/sessions/${await newSession("A repository")}?limit=1`)).session;
    const repo = `${cwd}/for-a-worktree`;
    execFileSync("sh", ["-c", `git init -q "$0" && git -C "$0" -c user.name=a -c user.email=a@x commit -q --allow-empty -m first`, repo]);
    const { page, close } = await open(browser, "/", wide);
    const folder = async (path) => {
      await page.getByRole("button", { name: /^Folder/ }).click();
      await page.getByRole("combobox", { name: "Folder" }).fill(path);
      await page.keyboard.press("Enter");
    };
    const toggle = page.getByRole("button", { name: "New worktree" });
    await folder(repo);
    await toggle.click();
    assert.equal(await toggle.getAttribute("aria-pressed"), "true");
    await page.getByLabel("First message").fill("Fix the flaky login test! MOCK_REPLY[apart]");
    const named = await page.getByText(/^New worktree on branch harness\/fix-the-flaky-login-test/).innerText();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator(".entry.assistant", { hasText: "apart" }).waitFor();
    const id = page.url().split("/s/")[1].split("?")[0];
    const { worktrees } = await api("GET", "/api/worktrees");
    const own = worktrees.find((one) => one.sessionId === id);
    assert.equal(own.repository, repo);
    assert.equal(`New worktree on branch ${own.branch}`, named);
    assert.equal((await api("GET", `/api/sessions/${id}?limit=1`)).session.cwd, own.folder);
    await page.goto(`${base}/`);
    await folder(repo);
    await toggle.waitFor();
    await folder(cwd);
    await toggle.waitFor({ state: "detached" });
    await close();
  }, { core: true });

  test("what is archived can be undone, found by its filter, and unarchived", async (browser) => {
    const id = await answered("To be archived", "MOCK_REPLY[a word of the archive: quokka]");
    const { page, close } = await open(browser, `/s/${id}`, wide);
    await live(page);
    await row(page, id).waitFor();
    const archive = async () => {
      await row(page, id).hover();
      await page.locator(`.row-line:has([data-session="${id}"])`).getByRole("button").click();
      await page.getByRole("menuitem", { name: "Archive" }).click();
      await row(page, id).waitFor({ state: "detached" });
    };
    await archive();
    await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
    await row(page, id).waitFor();
    assert.equal((await api("GET", "/api/sessions?archived=true")).data.some((s) => s.sessionId === id), false);
    await archive();
    await page.goto(`${base}/?filter=archived`);
    await row(page, id).waitFor();
    assert.equal(await page.getByLabel("Show", { exact: true }).inputValue(), "archived");
    await page.locator(".find").click();
    await page.keyboard.type("quokka");
    await page.getByRole("option", { name: /quokka.*archived/ }).first().click();
    await page.waitForURL(new RegExp(`/s/${id}\\?at=`));
    await page.locator("[data-marked]", { hasText: "quokka" }).waitFor();
    await pill(page, "archived");
    assert.equal(await page.locator("main textarea").count(), 0, "an archived session has a message field");
    await row(page, id).hover();
    await page.locator(`.row-line:has([data-session="${id}"])`).getByRole("button").click();
    await page.getByRole("menuitem", { name: "Unarchive" }).click();
    await eventually("it is in the list again", async () => (await api("GET", "/api/sessions?limit=100")).data.some((s) => s.sessionId === id));
    await close();
  }, { core: true });

  test("the search is a button, too, also on a phone", async (browser) => {
    const id = await answered("Found by a mouse", "MOCK_REPLY[a word of its own: wombat]");
    const { page, close } = await open(browser, "/sessions", phone);
    for (const path of ["/sessions", "/inbox"]) {
      await page.goto(base + path);
      await live(page);
      await page.getByRole("button", { name: "Search", exact: true }).tap();
      await page.getByRole("combobox", { name: "Search" }).fill("wombat");
      await page.getByRole("option", { name: /wombat.*Found by a mouse/ }).first().tap();
      await page.waitForURL(new RegExp(`/s/${id}\\?at=`));
    }
    await close();
  });

  test("rows are one stop of the Tab key, and arrows move between them", async (browser) => {
    const [one, two] = [await newSession("Arrow one"), await newSession("Arrow two")];
    const { page, close } = await open(browser, "/", wide);
    await row(page, one).waitFor();
    assert.equal(await page.locator('.row[tabindex="0"]').count(), 1);
    await page.locator('.row[tabindex="0"]').focus();
    const at = () => page.evaluate(() => document.activeElement?.dataset.session);
    await page.keyboard.press("Home");
    const first = await at();
    await page.keyboard.press("ArrowDown");
    await eventually("the next has the focus", async () => (await at()) !== first);
    await page.keyboard.press("ArrowUp");
    await eventually("and the first again", async () => (await at()) === first);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${base}/s/${first}`);
    assert.ok([one, two].length === 2);
    await close();
  });

  test("in a narrow window the sidebar opens over the page, and Escape closes it", async (browser) => {
    const { page, close } = await open(browser, "/inbox", { viewport: { width: 900, height: 800 } });
    await live(page);
    assert.equal(await page.locator(".side").isVisible(), false);
    await page.getByRole("button", { name: "Open sidebar" }).click();
    await page.getByRole("link", { name: "New session" }).waitFor();
    await page.keyboard.press("Escape");
    await eventually("it is closed", async () => !(await page.locator(".side").isVisible()));
    await eventually("the focus is back", () => page.getByRole("button", { name: "Open sidebar" }).evaluate((el) => el === document.activeElement));
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole("button", { name: "Hide sidebar" }).click();
    await page.reload();
    await page.getByRole("button", { name: "Open sidebar" }).click(); // it is remembered
    await page.getByRole("button", { name: "Hide sidebar" }).waitFor();
    await close();
  });

  test("who only reads is offered nothing else", async (browser) => {
    const id = await newSession("For a viewer");
    await send(id, "MOCK_CMD[echo viewer]");
    const { secret, token: made } = await api("POST", "/api/tokens", { name: "reads-the-shell", role: "viewer" });
    const { page, close } = await open(browser, "/", { as: secret, ...wide });
    for (const path of ["/", "/inbox", `/s/${id}`]) {
      await page.goto(base + path);
      await live(page);
      await row(page, id).waitFor();
      assert.equal(await page.getByRole("button", { name: /^(Approve|Decline|Send|Stop|New session|Start)/ }).count(), 0, path);
      assert.equal(await page.getByRole("link", { name: "New session" }).count(), 0, path);
    }
    await page.goto(`${base}/jobs`);
    await page.getByText("This page needs the role Operator.").waitFor();
    await close();
    await api("DELETE", `/api/tokens/${made.id}`);
    await quiet();
  });

  test("sign-in offers what the server takes, and keeps the focus in the field after an error", async (browser) => {
    const context = await browser.newContext(wide);
    const page = await context.newPage();
    await page.goto(`${base}/`);
    const field = page.getByLabel("Access token");
    await field.waitFor();
    assert.equal(await page.getByRole("button", { name: /^Continue with/ }).count(), 0);
    await field.fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    const [below, above] = [await page.getByRole("alert").boundingBox(), await field.boundingBox()];
    assert.ok(below.y >= above.y + above.height && below.y - above.y - above.height < 12, "the error stands under the field");
    await eventually("the field keeps the focus", () => field.evaluate((el) => el === document.activeElement));
    await page.route("**/api/login/methods", (route) => route.fulfill({ json: { status: "ok", providers: [{ name: "Okta", url: "/api/login/oidc/okta" }] } }));
    await page.reload();
    await page.getByRole("button", { name: "Continue with Okta" }).waitFor();
    await page.getByLabel("Access token").fill(token);
    await page.keyboard.press("Enter");
    await live(page);
    await closed(context);
  }, { core: true });

  test("on every page of a phone targets are 44 px, and nothing overlaps or is cut", async (browser) => {
    const [id, other] = [await newSession("A thumb"), await answered("Archived by a thumb", "MOCK_REPLY[yes]")];
    await send(id, "MOCK_CMD[echo a thumb]");
    await eventually("it waits for a person", async () => (await api("GET", "/api/requests")).data.find((r) => r.threadId === id));
    const { page, close } = await open(browser, "/", phone);
    const bad = [];
    for (const path of [...pages, "/manage", `/s/${id}`]) {
      await page.goto(base + path);
      await live(page);
      await page.locator("main h1, main form, .request").first().waitFor();
      bad.push(...(await page.evaluate(thumbs)).map((what) => `${path}: ${what}`));
    }
    const back = await page.getByRole("link", { name: "Back to sessions" }).boundingBox();
    assert.ok(back.x <= 4 && back.y <= 12, `the way back stands at ${JSON.stringify(back)}`);
    await page.goto(`${base}/sessions`);
    await page.locator(`.row-line:has([data-session="${other}"])`).getByRole("button").tap();
    await page.getByRole("menuitem", { name: "Archive" }).tap();
    await row(page, other).waitFor({ state: "detached" });
    await close();
    await quiet();
    assert.deepEqual(bad, []);
  });

  test("type has five sizes on every page", async (browser) => {
    const id = await answered("Five sizes", "MOCK_REPLY[# One\n\n## Two\n\n### Three\n\nwith `code`\n\n| a | b |\n|---|---|\n| c | d |\n\n```go\nvar x int\n```]");
    const { page, close } = await open(browser, "/", wide);
    const found = {};
    for (const path of [...pages, `/s/${id}`]) {
      await page.goto(base + path);
      await live(page);
      for (const [size, what] of await page.evaluate(sizes)) found[size] ??= `${path} ${what}`;
    }
    await close();
    assert.deepEqual(Object.fromEntries(Object.entries(found).filter(([size]) => !["12px", "13px", "14px", "16px", "20px"].includes(size))), {});
  });
};

/** thumbs is what a thumb cannot use, run in the page: controls that are too small, overlap, or are cut; what is wider than the screen. */
function thumbs() {
  const name = (el) => `${el.tagName.toLowerCase()}.${el.className} "${(el.getAttribute("aria-label") ?? el.textContent ?? "").trim().slice(0, 30)}"`;
  const shown = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: false }) && el.getClientRects().length > 0;
  const target = (el) => {
    const boxes = [el, ...(el.labels ?? [])].map((one) => one.getBoundingClientRect());
    return { x: Math.min(...boxes.map((b) => b.left)), y: Math.min(...boxes.map((b) => b.top)), right: Math.max(...boxes.map((b) => b.right)), bottom: Math.max(...boxes.map((b) => b.bottom)) };
  };
  const inText = (el) => el.tagName === "A" && !!el.closest("p, .md") && !/button/.test(el.className);
  const all = [...document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=option], [role=menuitem]")]
    .filter((el) => shown(el) && !inText(el) && !el.matches(".skip, [hidden]") && !el.closest(".unseen, .md"));
  const bad = [];
  for (const el of all) {
    const box = target(el);
    if (box.right - box.x < 43.5 || box.bottom - box.y < 43.5) bad.push(`${Math.round(box.right - box.x)}x${Math.round(box.bottom - box.y)} ${name(el)}`);
    if (!el.matches("input, textarea, select") && el.scrollWidth > el.clientWidth + 1 && el.clientWidth > 0 && getComputedStyle(el).overflowX === "visible") bad.push(`cut: ${name(el)}`);
  }
  for (const [at, a] of all.entries()) {
    for (const b of all.slice(at + 1)) {
      if (a.contains(b) || b.contains(a) || [...(a.labels ?? [])].some((l) => l.contains(b)) || [...(b.labels ?? [])].some((l) => l.contains(a))) continue;
      const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
      const clip = (el, box) => { // by the boxes it scrolls in
        let [top, bottom] = [box.top, box.bottom];
        for (let up = el.parentElement; up; up = up.parentElement) {
          if (getComputedStyle(up).overflowY === "visible") continue;
          const edge = up.getBoundingClientRect();
          [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
        }
        return { top, bottom };
      };
      const [v, w] = [clip(a, p), clip(b, q)];
      if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 && Math.min(v.bottom, w.bottom) - Math.max(v.top, w.top) > 1) bad.push(`overlap: ${name(a)} and ${name(b)}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) bad.push(`the page is ${document.documentElement.scrollWidth} wide`);
  return bad;
}

/** sizes are the sizes of all texts of a page, with where each was found, run in the page. */
function sizes() {
  const found = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const el = node.parentElement;
    if (!el || !node.textContent.trim() || el.closest("script, style, svg, noscript")) continue;
    const size = getComputedStyle(el).fontSize;
    if (!found.has(size)) found.set(size, `${el.tagName.toLowerCase()}.${el.className} ${node.textContent.trim().slice(0, 30)}`);
  }
  return [...found];
}
