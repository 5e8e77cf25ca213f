// What waits for a person, who may do what, and what the page never allows.
import assert from "node:assert/strict";
import AxeBuilder from "@axe-core/playwright";
import { aims, api, base, closed, eventually, finished, live, menu, newSession, open, order, pill, quiet, send, transcript } from "./kit.mjs";
import { fill } from "./talk.mjs";

const requests = async (id) => (await api("GET", "/api/requests")).data.filter((r) => r.threadId === id);
const waits = (id) => eventually("it waits for a person", async () => (await requests(id))[0]);
const named = async (name, role) => (await api("POST", "/api/tokens", { name, role })).secret;
const decision = async (id) => (await transcript(id)).filter((e) => e.type.endsWith(".resolved")).map((e) => JSON.parse(e.details).decision).join();

export const cases = (test) => {
  test("one of two people decides, the other sees who", async (browser) => {
    const id = await newSession("Two people");
    const ann = await open(browser, "/inbox", { as: await named("ann", "operator") });
    const owner = await open(browser, `/s/${id}`);
    await live(owner.page);
    await send(id, "MOCK_CMD[echo both]");
    await owner.page.locator(".request").waitFor();
    const card = ann.page.locator(".request", { hasText: "echo both" });
    await card.locator("[data-choice=approve]").waitFor();
    const notice = owner.page.getByText("ann approved this command").waitFor();
    await eventually("the card takes clicks", async () => {
      if (await card.count()) await card.locator("[data-choice=approve]").click().catch(() => {});
      return (await requests(id)).length === 0;
    });
    await notice;
    assert.equal(await owner.page.locator(".request").count(), 0);
    await finished(owner.page);
    assert.equal(await owner.page.getByText(/approved/i).count(), 1);
    await owner.page.reload();
    await finished(owner.page);
    assert.equal(await owner.page.getByText(/approved/i).count(), 1);
    await ann.close();
    await owner.close();
  }, { core: true });

  test("the inbox is answered by keyboard: approve, for the session, decline, with a reason", async (browser) => {
    const ids = [];
    for (const name of ["one", "two", "three", "four"]) {
      const id = await newSession(`Inbox ${name}`);
      await send(id, `MOCK_CMD[echo ${name}]`);
      await waits(id);
      ids.push(id);
    }
    const { page, close } = await open(browser, "/inbox");
    await page.locator(".request").nth(3).waitFor();
    assert.deepEqual(await page.locator(".request .needs").allInnerTexts(), ["Inbox one", "Inbox two", "Inbox three", "Inbox four"]);
    const card = (name) => page.locator(".request", { hasText: `echo ${name}` });
    const focused = (name) => eventually(`${name} has the focus`, () => card(name).evaluate((el) => el === document.activeElement));
    await page.keyboard.press("j");
    await focused("one");
    await page.keyboard.press("j");
    await focused("two");
    await page.keyboard.press("k");
    for (const [name, letter] of [["one", "y"], ["two", "s"], ["three", "n"], ["four", "r"]]) {
      await focused(name); // the one behind the one that was decided
      await aims(page, card(name), letter);
      await page.keyboard.press("Enter");
    }
    await page.getByLabel("What should it do instead?").fill("not on a Friday");
    await page.keyboard.press("Enter");
    await eventually("nothing waits", async () => (await page.locator(".request").count()) === 0);
    await eventually("all is decided as it was typed", async () => (await Promise.all(ids.map(decision))).join(" ") === "accept accept decline decline");
    await close();
  }, { core: true });

  test("a change of files is approved with its diff in sight", async (browser) => {
    const id = await newSession("A patch");
    await send(id, "MOCK_PATCH[greeting.txt]");
    await waits(id);
    const { page, close } = await open(browser, "/inbox");
    await page.locator(".request .diff").getByText("greeting.txt").waitFor();
    await aims(page, page.locator(".request"), "y");
    await page.keyboard.press("Enter");
    await eventually("it is decided", async () => (await decision(id)) === "accept");
    await page.goto(`${base}/s/${id}`);
    await finished(page);
    await page.locator(".panel .files").getByText("greeting.txt").waitFor();
    await close();
  });

  test("what was not read is marked, in every window, after a restart, for each person alone", async (browser) => {
    const id = await newSession("To be read");
    const row = (page) => page.locator(`[data-session="${id}"]`);
    const unread = (page, is) => page.locator(`[data-session="${id}"]${is ? "[data-unread]" : ":not([data-unread])"}`).waitFor();
    const marked = async (secret) => (await api("GET", `/api/sessions/${id}?view=console&limit=1`, undefined, secret)).session;
    const { page, context, close } = await open(browser, `/s/${id}`);
    await live(page);
    await send(id, "MOCK_REPLY[the first]");
    await finished(page);
    await eventually("it is noted", async () => (await marked()).readTo !== null && !(await marked()).unread);
    await page.goto(base);
    const other = await context.newPage();
    await other.goto(base);
    for (const one of [page, other]) await live(one);
    await send(id, "MOCK_REPLY[the second]");
    await unread(page, true);
    await row(page).getByRole("img", { name: "Unread" }).waitFor(); // by a sign, not by weight alone
    await unread(other, true);
    await order("kill");
    await order("start");
    await page.reload();
    await unread(page, true);
    await row(page).click();
    await page.getByText("New since your last visit").waitFor();
    const [line, first, second] = await Promise.all([page.locator(".new-behind"), page.getByText("the first").last(), page.getByText("the second").last()].map((e) => e.boundingBox()));
    assert.ok(first.y < line.y && line.y < second.y, "the line is between what was read and what was not");
    await unread(other, false);
    await eventually("it is noted", async () => !(await marked()).unread);
    await page.goto(base);
    await unread(page, false);
    assert.equal((await marked(await named("reads-nothing", "viewer"))).readTo, null);
    await row(page).click();
    await menu(page, page.locator(".head"), "Mark as unread");
    await unread(page, true);
    await unread(other, true);
    assert.equal((await marked()).unread, true);
    await close();
  });

  test("a question is answered with words of one's own", async (browser) => {
    const id = await newSession("A question");
    await send(id, "MOCK_ASK");
    const asked = await eventually("it asks", async () => (await requests(id))[0]);
    const { page, close } = await open(browser, `/s/${id}`);
    const card = page.locator(".request");
    await card.waitFor();
    const other = card.locator("input[type=text]").first();
    await other.fill("neither of them");
    await card.getByRole("button", { name: "Answer" }).click();
    await finished(page);
    assert.equal(asked.kind, "toolInput");
    assert.match(JSON.stringify(await transcript(id)), /neither of them/);
    await close();
  });

  test("Claude Code: several answers are marked; a declined change and a stop say so, also after a reload", async (browser) => {
    const { session } = await api("POST", "/api/sessions", { runtime: "claude", approvalPolicy: "untrusted", filesystemSandbox: "danger-full-access", networkAccess: "enabled" });
    const id = session.sessionId;
    const { page, close } = await open(browser, `/s/${id}`);
    await send(id, "MOCK_ASK_SEVERAL");
    const card = page.locator(".request");
    await card.waitFor();
    await card.getByLabel("a, b").check();
    await card.getByLabel('"c"').check();
    await card.getByRole("button", { name: "Answer" }).click();
    await finished(page);
    assert.ok(JSON.stringify(await transcript(id)).includes("a, b"), "the answers reach the agent");
    await send(id, `MOCK_PATCH[${session.cwd}/declined.txt]`);
    await page.locator("[data-choice=decline]").click({ delay: 500 });
    await finished(page, 2);
    await send(id, "MOCK_HOLD[stopped]");
    await eventually("it runs", async () => (await api("GET", `/api/sessions/${id}?limit=1`)).session.state === "running");
    await api("POST", `/api/sessions/${id}/interrupt`);
    const shown = async () => {
      await page.locator("[data-type='turn.stopped']", { hasText: "Stopped by" }).waitFor();
      await page.locator("[data-type=fileChange]", { hasText: "declined.txt" }).getByText("Declined", { exact: true }).waitFor();
      assert.equal(await page.locator(".files, .counts, .entry .diff-lines").count(), 0);
      assert.equal(await page.locator("[data-type='approval.resolved'] .mark.ok").count(), 0);
    };
    await shown();
    await page.reload();
    await shown();
    await close();
  });

  test("a link of harness open logs one browser in, once", async (browser) => {
    const link = await order("link");
    assert.match(link, /\/login#link=hrk_[\w-]+$/);
    const first = await browser.newContext();
    const page = await first.newPage();
    await page.goto(link);
    await live(page);
    assert.equal(new URL(page.url()).hash, "");
    assert.equal((await (await first.request.get(`${base}/api/me`)).json()).role, "owner");
    await page.goto(link); // which it is logged in by already
    await live(page);
    const second = await (await browser.newContext()).newPage();
    await second.goto(link);
    await second.getByText("this link was used before").waitFor();
    await second.getByLabel("Access token").waitFor();
    await second.goto(await order("link")); // in the tab that shows the login
    await live(second);
  }, { core: true });

  test("login: a wrong token is refused, a role shows what it may, an ended token asks again and keeps the draft", async (browser) => {
    const id = await newSession("Roles");
    const secret = await named("eve", "viewer");
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${base}/s/${id}`);
    const field = page.getByLabel("Access token");
    await field.fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("unknown to this server").waitFor();
    await field.fill(secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    await live(page);
    await page.getByText("View only.").waitFor();
    assert.equal(await page.evaluate(() => document.cookie), "");
    const { data } = await api("GET", "/api/tokens");
    const eve = data.find((t) => t.name === "eve");
    await api("PATCH", `/api/tokens/${eve.id}`, { role: "operator" });
    const message = page.getByLabel("Message");
    await message.waitFor();
    await message.fill("not lost");
    await api("DELETE", `/api/tokens/${eve.id}`);
    await page.getByText("You’ve been signed out.").waitFor();
    await page.getByLabel("Access token").fill(await named("eve", "operator"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await live(page);
    assert.equal(await page.getByLabel("Message").inputValue(), "not lost");
    await closed(context);
  }, { core: true });

  test("hostile text runs nothing, and sends no requests", async (browser) => {
    const id = await newSession("Hostile");
    const { page, trouble, close } = await open(browser, `/s/${id}`);
    await live(page);
    const content = [
      "<script>window.run=1</script>", '<img src="https://evil.example/a.png" onerror="window.run=1">', "![x](https://evil.example/b.png)",
      "[x](javascript:window.run=1)", '<a href="javascript:window.run=1">y</a>', "<svg/onload=window.run=1>", "```html\n<script>window.run=1</script>\n```", "the end",
    ].join("\n\n");
    for (const [i, role] of ["user", "assistant", "system"].entries()) {
      await api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: `h${i}`, turnId: "ci", role, type: role === "system" ? "ci.note" : "agentMessage", content, status: "complete", details: JSON.stringify({ content }) });
    }
    await api("POST", `/api/sessions/${id}/rename`, { title: "<img src=https://evil.example/c.png onerror=window.run=1>" });
    await page.getByText("the end").nth(1).waitFor();
    await page.locator(".head h1", { hasText: "evil.example" }).waitFor();
    for (const link of await page.locator(".md a").all()) assert.match(await link.getAttribute("href"), /^https:/);
    assert.equal(await page.evaluate(() => window.run), undefined);
    assert.equal(await page.locator("main script, main img, main svg:not(.i)").count(), 0);
    assert.deepEqual(trouble, []);
    await close();
  });

  test("a diff of 20,000 lines opens, and is in the page only where one looks", async (browser) => {
    const id = await newSession("A long diff");
    const diff = "@@ -1,10000 +1,20000 @@\n" + Array.from({ length: 20_000 }, (_, i) => `${i % 2 ? "+" : " "}line ${i}`).join("\n");
    const item = { type: "fileChange", id: "long", changes: [{ path: "long.txt", kind: { type: "update" }, diff }] };
    await api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: "long", turnId: "ci", role: "system", type: "fileChange", content: "1 change", status: "complete", details: JSON.stringify(item) });
    const { page, close } = await open(browser, `/s/${id}`);
    await page.locator(".entry .file summary").click();
    await page.getByText("line 0", { exact: true }).waitFor();
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(elements <= 1500, `${elements} elements`);
    await close();
  });

  test("on a phone: one column, all within it, targets for thumbs", async (browser) => {
    const id = await newSession("A phone");
    await send(id, "MOCK_CMD[echo from a phone]");
    await waits(id);
    const { page, close } = await open(browser, `/s/${id}`, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await page.locator(".request").waitFor();
    const [decline, approve] = await Promise.all(["decline", "approve"].map((c) => page.locator(`[data-choice=${c}]`).boundingBox()));
    assert.ok(approve.height >= 44 && decline.height >= 44, "a button is too small");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "it scrolls sideways");
    await eventually("the approval is taken", async () => {
      await page.locator("[data-choice=approve]").tap({ timeout: 1000 }).catch(() => {});
      return (await requests(id)).length === 0;
    });
    await finished(page);
    await page.getByRole("link", { name: "Back to sessions" }).click();
    await page.locator(`[data-session="${id}"]`).waitFor();
    await api("POST", `/api/sessions/${id}/suggested-request/jobs`, {});
    for (const path of ["/jobs", "/events", "/usage", "/runtimes", "/extensions", "/settings"]) {
      await page.goto(base + path);
      await live(page);
      if (!/runtimes|extensions|settings/.test(path)) await page.locator("tbody tr:visible").first().waitFor();
      const wide = await page.evaluate(() => [...document.querySelectorAll(".scroll, .scroll *")].filter((e) => !e.closest("pre") && e.getBoundingClientRect().right > 390).map((e) => e.outerHTML.slice(0, 100)));
      assert.deepEqual(wide, [], `${path} is wider than a phone`);
    }
    await close();
  });

  test("no page has a barrier that axe finds, in both themes", async (browser) => {
    const id = await newSession("Axe");
    await fill(id, 3);
    await send(id, "MOCK_CMD[echo axe]");
    await waits(id);
    const barriers = [];
    const { page, close } = await open(browser, "/");
    for (const [path, there] of [["/", ".row"], [`/s/${id}`, ".request"], ["/inbox", ".request"], ["/settings", ".items li"], ["/settings/notifications", ".items li"], ["/settings/defaults", ".items select"], ["/settings/people", ".items li"], ["/settings/projects", "form"], ["/settings/server", "[data-setting]"], ["/jobs", ".jobs .tabs"], ["/events", "[data-event]"], ["/usage", ".usage .flush table"], ["/extensions", "[data-module]"], ["/runtimes", "[data-runtime]"], ["/?palette", ".row"]]) {
      await page.goto(base + path);
      await page.locator(there).first().waitFor();
      await live(page);
      if (path === "/?palette") {
        await page.keyboard.press("Control+k");
        await page.locator(".palette [role=option]").first().waitFor();
      }
      barriers.push(...(await barriersOf(page, path)));
      for (const name of path === "/" ? [/^Folder/, /^Agent, model, access/] : []) {
        await page.getByRole("button", { name }).click();
        await page.locator(".layer").waitFor();
        barriers.push(...(await barriersOf(page, `${path} ${name}`, ".layer")));
        await page.keyboard.press("Escape");
      }
    }
    await close();
    const anonymous = await browser.newContext();
    const login = await anonymous.newPage();
    await login.goto(`${base}/login`);
    await login.getByLabel("Access token").waitFor();
    barriers.push(...(await barriersOf(login, "/login")));
    await anonymous.close();
    await quiet();
    assert.deepEqual(barriers, []);
  });

  test("an upgraded server offers a reload", async (browser) => {
    const { page, context, close } = await open(browser, "/settings");
    await live(page);
    await context.route(`${base}/`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replace(/assets\/index-[^."]+\.js/, "assets/index-other.js") });
    });
    await order("kill");
    await order("start");
    await page.getByText("Harness was updated.").waitFor();
    await page.getByRole("button", { name: "Reload" }).waitFor();
    await close();
  });
};

/** barriersOf is what axe finds on a page, in both themes: all but contrast is the same in the dark one. */
async function barriersOf(page, where, within = "html") {
  const barriers = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const axe = new AxeBuilder({ page }).include(within).setLegacyMode(); // the console has no frames to look into
    const { violations } = await (colorScheme === "dark" ? axe.withRules(["color-contrast"]) : axe).analyze();
    barriers.push(...violations.map((v) => `${where} ${colorScheme}: ${v.id}: ${v.nodes.map((n) => n.target).join(", ")}`));
  }
  return barriers;
}
