// Presses a button of a link that decides an approval, in a real browser: CONSOLE_LINK, on the page that CONSOLE_SAYS
// what is approved. Run by go test ./internal/e2e/clients -run TestALinkInABrowser.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const { CONSOLE_LINK: link, CONSOLE_SAYS: says, CONSOLE_CHROMIUM: executablePath } = process.env;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ baseURL: new URL(link).origin });
const complaints = [];
page.on("console", (message) => complaints.push(message.text()));
await page.goto(link);
assert.ok((await page.locator("pre").innerText()).includes(says), await page.content());
assert.equal(await page.locator("pre").evaluate((e) => getComputedStyle(e).whiteSpace.startsWith("pre-wrap") || getComputedStyle(e).whiteSpaceCollapse === "preserve"), true);
await page.getByRole("button", { name: "Approve" }).click();
await page.getByRole("heading", { name: "Approved" }).waitFor();
await page.goto(link);
await page.getByRole("heading", { name: "Already decided" }).waitFor();
await browser.close();
assert.deepEqual(complaints.filter((text) => !text.includes("410")), []);
