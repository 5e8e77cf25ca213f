/** counted returns a number with its noun in a language: "1 file", "1,204 files". */
export function counted(language: string): (n: number, one: string, other?: string) => string {
  const rules = new Intl.PluralRules(language);
  const digits = new Intl.NumberFormat(language);
  return (n, one, other = `${one}s`) => `${digits.format(n)} ${rules.select(n) === "one" ? one : other}`;
}
