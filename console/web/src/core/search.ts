// How well the words of a search match a name.

/** fits scores a name: 0 for not at all, more where the letters stand together and at the beginnings of words. */
export function fits(typed: string, name: string): number {
  const wanted = typed.toLowerCase().trim();
  const hay = name.toLowerCase();
  if (wanted === "") return 1;
  const whole = hay.indexOf(wanted);
  if (whole >= 0) return 1000 - Math.min(whole, 500) + (whole === 0 || /\W/.test(hay[whole - 1]!) ? 300 : 0);
  let [at, score] = [0, 0];
  for (const letter of wanted.replace(/\s+/g, "")) {
    const next = hay.indexOf(letter, at);
    if (next < 0) return 0;
    score += next === at ? 5 : next === 0 || /\W/.test(hay[next - 1]!) ? 3 : 1;
    at = next + 1;
  }
  return score;
}

/** best are those that fit, best first; of the same worth those stand as before. */
export function best<T>(typed: string, all: T[], name: (one: T) => string, most: number): T[] {
  return all.map((one) => ({ one, score: fits(typed, name(one)) })).filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score).slice(0, most).map(({ one }) => one);
}

/** pieces cut a text at its marks, which stand in order. */
export function pieces(text: string, marks: { start: number; end: number }[]): { text: string; marked: boolean }[] {
  const all: { text: string; marked: boolean }[] = [];
  let at = 0;
  for (const { start, end } of marks) {
    if (start > at) all.push({ text: text.slice(at, start), marked: false });
    all.push({ text: text.slice(start, end), marked: true });
    at = end;
  }
  if (at < text.length) all.push({ text: text.slice(at), marked: false });
  return all;
}
