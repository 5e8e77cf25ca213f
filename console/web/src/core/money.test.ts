import { expect, test } from "vitest";
import { amount, csv, daysUntil, money, ticks } from "./money";

test("money has cents, and less than a cent is no zero", () => {
  expect([0, 1, 9_999, 10_000, 420_000, 158_400_000].map(money)).toEqual(["$0.00", "<$0.01", "<$0.01", "$0.01", "$0.42", "$158.40"]);
});

test("long counts are short", () => {
  expect([0, 9_999, 10_000, 212_400, 48_213_000, 6_100_000].map(amount)).toEqual(["0", "9,999", "10 K", "212 K", "48.2 M", "6.1 M"]);
});

test("a chart has round steps up to its maximum", () => {
  expect(ticks(0)).toEqual([0]);
  expect(ticks(22)).toEqual([0, 10, 20, 30]);
  expect(ticks(18_000_000)).toEqual([0, 5e6, 10e6, 15e6, 20e6]);
  for (const most of [1, 3, 7, 99, 12_345]) expect(ticks(most).at(-1)).toBeGreaterThanOrEqual(most);
});

test("days end today, over the end of a month", () => {
  expect(daysUntil(Date.UTC(2026, 10, 2, 23), 3)).toEqual(["2026-10-31", "2026-11-01", "2026-11-02"]);
});

test("a cell of a file is text, never a formula", () => {
  expect(csv([["a", "b\"c"], ["=1+1", 2]])).toBe('"a","b""c"\r\n"\'=1+1",2\r\n');
});
