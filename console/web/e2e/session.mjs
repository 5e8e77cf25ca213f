// The session page and the inbox: what is asked, said, done and decided is shown once, and as what it is.
import assert from "node:assert/strict";
import { api, base, enter, eventually, finished, live, menu, newSession, open, order, pill, said, send, transcript } from "./kit.mjs";

const requests = async (id) => (await api("GET", "/api/requests")).data.filter((r) => r.threadId === id);
const waits = (id, n = 1) => eventually("it waits for a person", async () => (await requests(id)).length >= n);
const decline = async (id) => { for (const one of await requests(id)) await api("POST", `/api/approvals/${one.approvalId}/decision`, { decision: "decline" }); };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** unfit are the controls of a phone's page that are too small, that overlap, or that are cut. */
export const unfit = (page) => page.evaluate(() => {
  const shown = [...document.querySelectorAll("main :is(button, a, input, select, textarea, summary, [role=switch])")].filter((el) => el.checkVisibility() && !el.closest("p, .md, .scroll .rows") && el.type !== "file");
  const box = (el) => (el.closest("label") ?? el).getBoundingClientRect();
  const name = (el) => el.getAttribute("aria-label") || el.innerText?.slice(0, 40) || el.outerHTML.slice(0, 80);
  const small = shown.filter((el) => box(el).width < 44 - 0.5 || box(el).height < 44 - 0.5).map((el) => `small: ${name(el)} ${box(el).width}x${box(el).height}`);
  const seen = shown.filter((el) => { const b = box(el); return document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)?.closest("button, a, input, select, textarea, summary, label") === (el.closest("label") ?? el) || el.contains(document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)); });
  const overlap = seen.flatMap((a, i) => seen.slice(i + 1).filter((b) => !a.contains(b) && !b.contains(a)).filter((b) => {
    const [x, y] = [box(a), box(b)];
    return x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 1 && y.top < x.bottom - 1;
  }).map((b) => `overlap: ${name(a)} and ${name(b)}`));
  const cut = shown.filter((el) => el.matches("button") && el.scrollWidth > el.clientWidth + 1).map((el) => `cut: ${name(el)}`);
  const wide = document.documentElement.scrollWidth > 390 ? [`the page is ${document.documentElement.scrollWidth} px wide`] : [];
  return [...small, ...overlap, ...cut, ...wide];
});

export const cases = (test) => {
  // CO-51
  test("a phone shows the diff or the command it asks about, and nothing overlaps", async (browser) => {
    const [edit, command] = [await newSession("A change on a phone"), await newSession("A command on a phone")];
    await send(edit, "MOCK_PATCH[phone.txt]");
    await send(command, "MOCK_CMD[echo asked on a phone]");
    for (const id of [edit, command]) await waits(id);
    const { page, close } = await open(browser, "/inbox", phone);
    await live(page);
    const card = page.locator(".request", { hasText: "A change on a phone" });
    await card.locator(".file summary", { hasText: "phone.txt" }).waitFor();
    await card.locator(".dl.add").first().waitFor();
    await page.locator(".request .command", { hasText: "echo asked on a phone" }).waitFor();
    const [no, yes] = await Promise.all(["decline", "approve"].map((c) => card.locator(`[data-choice=${c}]`).boundingBox()));
    const more = await card.locator("[data-more=decline]").boundingBox();
    assert.ok(yes.x - (more.x + more.width) >= 24, "Approve and Decline are close");
    assert.ok(yes.height >= 44 && no.height >= 44, "a button is too small");
    assert.deepEqual(await unfit(page), []);
    for (const [id, there] of [[edit, ".request .dl.add"], [command, ".request .command"]]) {
      await page.goto(`${base}/s/${id}`);
      await live(page);
      await page.locator(there).first().waitFor();
      await page.getByLabel("Message", { exact: true }).fill("a message that is long enough to stand in more than one line of the field");
      assert.deepEqual(await unfit(page), []);
    }
    await page.locator(".composer .chip").tap();
    await page.getByRole("dialog").getByText("Ask first").waitFor();
    assert.deepEqual(await unfit(page), []);
    await close();
    for (const id of [edit, command]) await decline(id);
  }, { core: true });

  // CO-54
  test("a card takes no click within 400 ms after it appears, then one", async (browser) => {
    const id = await newSession("Too soon");
    const { page, context, close } = await open(browser, `/s/${id}`);
    await live(page);
    let sent = 0;
    page.on("request", (request) => { if (request.url().includes("/decision")) sent++; });
    // A click of a pointer that stood where the card appears, from inside the page: nothing lies between.
    await page.evaluate(() => {
      window.soon = 0;
      new MutationObserver((_, observer) => {
        const button = document.querySelector("[data-choice=approve]");
        if (!button) return;
        observer.disconnect();
        window.soon++;
        button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
      }).observe(document, { subtree: true, childList: true });
    });
    await send(id, "MOCK_CMD[echo soon]");
    await page.locator(".request").waitFor();
    await page.waitForTimeout(500);
    assert.deepEqual([await page.evaluate(() => window.soon), sent, (await requests(id)).length], [1, 0, 1]);
    await page.locator("[data-choice=approve]").click();
    await finished(page);
    assert.equal(sent, 1);
    void context;
    await close();
  });

  // WT-33
  test("the files of the folder: folders, a text with its lines, a binary file, what is not shown", async (browser) => {
    const id = await newSession("Files of a folder");
    await send(id, "MOCK_CMD[mkdir sub && seq 3 > sub/lines.txt && echo KEY=s3cret > .env && head -c 64 /dev/zero > zero && mkfifo pipe && ln -s / out]");
    const { page, close } = await open(browser, `/s/${id}?panel=files`);
    await page.locator(".request").waitFor();
    await page.waitForTimeout(450);
    await page.locator("[data-choice=approve]").click();
    await finished(page);
    await page.reload();
    const row = (name) => page.locator(".files button", { hasText: name });
    await row("sub/").waitFor();
    assert.ok(await row(".env").isDisabled() && (await row(".env").innerText()).includes("Secret"));
    assert.ok(await row("pipe").isDisabled() && await row("out").isDisabled());
    await row("zero").click();
    await page.getByText("A binary file. application/octet-stream, 64 B").waitFor();
    await page.locator(".crumbs button").first().click();
    await row("sub/").click();
    await row("lines.txt").click();
    await page.locator(".file-text").waitFor();
    assert.deepEqual(await page.locator(".file-text pre").allInnerTexts(), ["1\n2\n3", "1\n2\n3\n"]);
    await page.getByRole("button", { name: "/ sub" }).click();
    await row("lines.txt").waitFor();
    await close();
  }, { core: true });

  // CO-57
  test("a declined change is not done: no mark, no place among the changes, before and after a reload; a file that a command wrote has one", async (browser) => {
    const id = await newSession("An edit that is refused");
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await send(id, "MOCK_PATCH[kept.txt]");
    await page.locator(".request").waitFor();
    await page.waitForTimeout(450);
    await page.locator("[data-choice=approve]").click();
    await finished(page);
    await send(id, "MOCK_PATCH[refused.txt]");
    await page.locator(".request").waitFor();
    await page.waitForTimeout(450);
    await menu(page, page.locator(".request"), "Decline and say why…", "More ways to decline");
    await page.getByLabel("What should it do instead?").fill("not this file");
    await page.keyboard.press("Enter");
    await finished(page, 2);
    const shown = async () => {
      const step = page.locator("[data-type=fileChange]", { hasText: "refused.txt" });
      await step.getByText("Declined", { exact: true }).waitFor();
      assert.equal(await step.locator(".mark.ok, .counts, .diff-lines").count(), 0);
      await page.getByText(/declined.*not this file/i).first().waitFor();
      await page.locator(".files li", { hasText: "kept.txt" }).waitFor();
      assert.equal(await page.locator(".files li").count(), 1);
      assert.equal(await page.locator(".panel-body > .line-row .counts").innerText(), "+1");
    };
    await shown();
    await page.reload();
    await shown();
    await send(id, "MOCK_CMD[echo written by the command > by-command.txt]");
    await page.locator(".request").waitFor();
    await page.waitForTimeout(450);
    await page.locator("[data-choice=approve]").click();
    await page.locator(".files button", { hasText: "by-command.txt" }).click();
    await page.locator(".panel-body .dl.add", { hasText: "written by the command" }).waitFor();
    assert.deepEqual(await page.locator(".files .mono").allInnerTexts(), ["by-command.txt", "kept.txt"]);
    await page.getByRole("button", { name: "Who wrote these lines?" }).click(); // WT-65
    assert.match(await page.locator(".blame li").innerText(), /^1\s+MOCK_CMD\[echo written by the command > by-command.txt\] · allowed by /);
    await pill(page, "idle");
    await send(id, "MOCK_CMD[echo refused]");
    await page.locator(".request").waitFor();
    await page.waitForTimeout(450);
    await page.locator("[data-choice=decline]").click();
    const end = page.locator("[data-type=commandExecution]", { hasText: "echo refused" }).locator(".card-end");
    await end.getByText("Declined").waitFor();
    await pill(page, "idle");
    assert.equal(await end.innerText(), "Declined"); // it did not run: it took no time
    await close();
  }, { core: true });

  test("several requests: one is open, the others are a line each, and open with a click", async (browser) => {
    const id = await newSession("More than one request");
    await send(id, "MOCK_CMD[echo the oldest]");
    await waits(id);
    const { page, close } = await open(browser, `/s/${id}`);
    await page.route("**/api/requests", async (route) => { // agents that ask for two things at once do so now and then only
      const answer = await route.fetch();
      const { data } = await answer.json();
      const [one] = data.filter((r) => r.threadId === id);
      const later = { ...one, approvalId: "later", details: { ...one.details, command: "echo the newest" }, createdAt: new Date().toISOString() };
      await route.fulfill({ response: answer, json: { data: [one, later] } });
    });
    await page.reload();
    await page.getByText("1 more request").waitFor();
    await page.locator(".request .command", { hasText: "echo the oldest" }).waitFor();
    assert.equal(await page.locator(".request").count(), 1);
    await page.locator(".others button", { hasText: "echo the newest" }).click();
    await page.locator(".request .command", { hasText: "echo the newest" }).waitFor();
    await page.locator(".others button", { hasText: "echo the oldest" }).waitFor();
    await close();
    await decline(id);
  });

  test("the first Escape asks for another one, which stops the turn; the line that says so stays", async (browser) => {
    const id = await newSession("Two keys");
    const { page, close } = await open(browser, `/s/${id}`);
    await enter(page, "MOCK_HOLD[escaped]");
    await pill(page, "running");
    await page.locator(".activity", { hasText: "turn 0:" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".activity").getByText("Press Esc again to stop").waitFor();
    await page.locator("[aria-live]", { hasText: "Press Esc again to stop" }).waitFor({ state: "attached" });
    await page.keyboard.press("Escape");
    const line = page.locator("[data-type='turn.stopped']", { hasText: /Stopped by you · \d/ });
    await line.waitFor();
    await page.locator(".activity").waitFor({ state: "detached" });
    await page.reload();
    await line.waitFor();
    const { secret } = await api("POST", "/api/tokens", { name: "another-viewer", role: "viewer" });
    const other = await open(browser, `/s/${id}`, { as: secret });
    await other.page.locator("[data-type='turn.stopped']", { hasText: "Stopped by" }).waitFor();
    assert.equal(await other.page.getByText("Stopped by you").count(), 0);
    await order("release", { name: "escaped" });
    await other.close();
    await close();
  });

  // CO-53
  test("a message that is entered while the server is away goes out once it is back, once", async (browser) => {
    const id = await newSession("Away");
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await order("kill");
    await page.locator("[data-banner=lost]").waitFor();
    await enter(page, "MOCK_REPLY[sent by itself]");
    const unsent = page.getByRole("list", { name: "Messages not sent yet" });
    await unsent.getByText("Sent once the server is back").waitFor();
    await order("start");
    await finished(page);
    await unsent.waitFor({ state: "detached" });
    assert.deepEqual([await said(page), (await transcript(id)).filter((e) => e.role === "user").length], [["sent by itself"], 1]);
    await close();
  });

  test("a message that was not sent for ten minutes goes out with a click", async (browser) => {
    const id = await newSession("Long away");
    const { page, close } = await open(browser, `/s/${id}`);
    await page.clock.install();
    await page.reload();
    await live(page);
    await page.route("**/messages", (route) => route.abort());
    await enter(page, "MOCK_REPLY[much later]");
    const unsent = page.locator(".unsent");
    await unsent.getByText("MOCK_REPLY[much later]").waitFor();
    await page.clock.fastForward("11:00");
    await unsent.getByText("Not sent since").waitFor();
    await page.unroute("**/messages");
    await page.clock.fastForward("01:00");
    assert.equal((await transcript(id)).length, 0);
    await unsent.getByRole("button", { name: "Send", exact: true }).click();
    await page.clock.runFor(1000);
    await eventually("it was sent", async () => (await transcript(id)).some((e) => e.role === "user"));
    await close();
  });

  test("an entry of a megabyte is twelve lines until it is opened, as a text of its own", async (browser) => {
    const id = await newSession("A megabyte");
    const content = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${"x".repeat(38)}`).join("\n");
    await api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: "huge", turnId: "ci", role: "user", type: "ci.log", content, status: "complete" });
    const { page, context, trouble, close } = await open(browser, `/s/${id}`);
    const entry = page.locator("[data-id=huge] .said");
    await entry.waitFor();
    assert.ok((await entry.innerText()).split("\n").filter((line) => line.startsWith("line ")).length <= 12);
    const opened = context.waitForEvent("page");
    await entry.getByRole("button", { name: "Open as text" }).click();
    const text = await opened;
    await text.waitForLoadState();
    assert.ok((await text.evaluate(() => document.body.innerText)).includes("line 19999"));
    assert.deepEqual(trouble, []);
    await close();
  });

  // CO-55
  test("a session is saved as Markdown, as a page and as data; its link and its ID are copied", async (browser) => {
    const id = await newSession("Kept & shared");
    await send(id, "MOCK_REPLY[an **answer** to keep]");
    const { page, context, close } = await open(browser, `/s/${id}`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await finished(page);
    for (const [format, ending, has] of [["Markdown", "md", "an **answer** to keep"], ["HTML", "html", "an <strong>answer</strong> to keep"], ["JSON", "json", '"transcript"']]) {
      const download = page.waitForEvent("download");
      await menu(page, page.locator(".head"), `Export as ${format}`);
      const file = await download;
      assert.equal(file.suggestedFilename(), `Kept-shared.${ending}`);
      const chunks = [];
      for await (const chunk of await file.createReadStream()) chunks.push(chunk);
      assert.ok(Buffer.concat(chunks).toString().includes(has), `${format} has no ${has}`);
    }
    await menu(page, page.locator(".head"), "Copy ID");
    await eventually("the ID is copied", async () => (await page.evaluate(() => navigator.clipboard.readText())) === id);
    await menu(page, page.locator(".head"), "Rename…");
    await page.getByLabel("Title").fill("Renamed in its menu");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".head h1", { hasText: "Renamed in its menu" }).waitFor();
    await close();
  });

  test("two people write: each has a name, in both windows, and after a reload", async (browser) => {
    const id = await newSession("Written by two");
    const { secret } = await api("POST", "/api/tokens", { name: "dora", role: "operator" });
    const dora = await open(browser, `/s/${id}`, { as: secret });
    const owner = await open(browser, `/s/${id}`);
    for (const { page } of [dora, owner]) await live(page);
    await enter(dora.page, "MOCK_REPLY[one]");
    await finished(owner.page);
    await pill(owner.page, "idle");
    await enter(owner.page, "MOCK_REPLY[two]");
    await finished(dora.page, 2);
    const names = (page) => page.locator(".entry.user .who b").allInnerTexts();
    for (const reload of [false, true]) {
      for (const { page } of [dora, owner]) {
        if (reload) await page.reload();
        await eventually("both have a name", async () => (await names(page)).length === 2 && (await names(page))[0] === "dora");
        const [, other] = await names(page);
        assert.ok(!["dora", "You", "Unknown"].includes(other), other);
      }
    }
    await dora.close();
    await owner.close();
  });

  // CO-56
  test("a viewer reads and decides nothing", async (browser) => {
    const id = await newSession("Seen by a viewer");
    await send(id, "MOCK_CMD[echo viewed]");
    await waits(id);
    const { secret } = await api("POST", "/api/tokens", { name: "only-reads", role: "viewer" });
    const { page, close } = await open(browser, `/s/${id}`, { as: secret });
    for (const path of [`/s/${id}`, "/inbox"]) {
      await page.goto(base + path);
      await live(page);
      await page.locator(".request", { hasText: "echo viewed" }).getByText("Only operators can decide.").waitFor();
      assert.equal(await page.locator("main").getByRole("button", { name: /^(Approve|Decline|Send|Queue|Stop|Answer)/ }).count(), 0);
    }
    await page.goto(`${base}/s/${id}`);
    await page.getByText("View only. Ask an operator for access to send messages.").waitFor();
    assert.equal(await page.locator("main textarea").count(), 0);
    await close();
    await decline(id);
  });
};
