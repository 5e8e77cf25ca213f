// The colors of a command's output. Everything else that is for terminals is left out.

/** A part of a line that looks the same; `style` names its classes, "" for none. */
export type Styled = { text: string; style: string };

const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// Colors, other controls with their parameters, titles of windows.
const controls = /\u001b\[([0-9;]*)m|\u001b\[[0-9;?]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** plain is a text without its controls. */
export const plain = (text: string) => text.replace(controls, "");

/** styled reads the parts of a text. Colors beyond the sixteen of a terminal are shown as text. */
export function styled(text: string): Styled[] {
  const parts: Styled[] = [];
  let [color, bold, dim, from] = ["", false, false, 0];
  const put = (to: number) => {
    if (to > from) parts.push({ text: text.slice(from, to), style: [color && `ansi-${color}`, bold && "ansi-bold", dim && "ansi-dim"].filter(Boolean).join(" ") });
  };
  for (const found of text.matchAll(controls)) {
    put(found.index);
    from = found.index + found[0].length;
    if (found[1] === undefined) continue;
    const codes = found[1].split(";").map(Number);
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i]!;
      if (code === 0) [color, bold, dim] = ["", false, false];
      else if (code === 1) bold = true;
      else if (code === 2) dim = true;
      else if (code === 22) [bold, dim] = [false, false];
      else if (code === 39) color = "";
      else if (code >= 30 && code <= 37) color = names[code - 30]!;
      else if (code >= 90 && code <= 97) color = names[code - 90]!;
      else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4;
    }
  }
  put(text.length);
  return parts;
}
