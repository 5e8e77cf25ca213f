import { text } from "../text";
import { locale } from "../text/language";

/** since words a time that has passed, in ms: "now", "2 min", "3 h", "5 d". */
export function since(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return text.ages.now;
  if (minutes < 60) return text.ages.minutes(minutes);
  if (minutes < 24 * 60) return text.ages.hours(Math.floor(minutes / 60));
  return text.ages.days(Math.floor(minutes / (24 * 60)));
}

/** clock words a length of time, in ms, as minutes and seconds. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** took words how long something took, in ms. */
export const took = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : clock(ms));

/** timeOf words a time of the day: "2:41 PM". */
export const timeOf = (at: number) => new Date(at).toLocaleTimeString(locale, { hour: "numeric", minute: "2-digit" });

/** momentOf words a time with its day. */
export const momentOf = (at: number | string) => new Date(at).toLocaleString(locale);

/** secondOf words a time of the day with its seconds. */
export const secondOf = (at: number | string) => new Date(at).toLocaleTimeString(locale);

/** dayOf words a day. */
export const dayOf = (at: number | string) => new Date(at).toLocaleDateString(locale);

/** digits words a number in full: "48,213". */
export const digits = (n: number) => n.toLocaleString(locale);
