// Money, long counts, and the scale of a chart.
import { locale } from "../text/language";
import { digits } from "./time";

const dollars = new Intl.NumberFormat(locale, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" });
const short = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 });

/** money words millionths of a US dollar: "$0.42"; under a cent "<$0.01". */
export const money = (micros: number) => (micros > 0 && micros < 10_000 ? `<${dollars.format(0.01)}` : dollars.format(micros / 1e6));

/** amount words a count: in full up to 9,999, then "212 K" or "48.2 M". */
export const amount = (n: number) => (n < 10_000 ? digits(n) : short.format(n).replace(/(\d)([A-Z])$/, "$1 $2"));

/** ticks are the values beside a chart: from 0 to at least the maximum, in four to five round steps. */
export function ticks(most: number): number[] {
  if (most <= 0) return [0];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * power >= rough)! * power;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step);
}

/** daysUntil are the names of so many days, the last one today (UTC). */
export const daysUntil = (now: number, count: number) => Array.from({ length: count }, (_, i) => new Date(now - (count - 1 - i) * 86_400_000).toISOString().slice(0, 10));

/** csv is a table as a file for a spreadsheet, which runs no cell as a formula. */
export const csv = (rows: (string | number)[][]) => rows.map((row) => row.map((cell) => (typeof cell === "number" ? String(cell) : `"${cell.replace(/^[=+@\t-]/, "'$&").replaceAll('"', '""')}"`)).join(",")).join("\r\n") + "\r\n";
