// Markdown that grows: blocks that are closed are rendered once and never again, only the last one is while text comes.
import { Marked, type Token, type Tokens } from "marked";

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
export const escapeHTML = (text: string) => text.replace(/[&<>"']/g, (c) => escapes[c]!);

/** A link an agent wrote leads to a web page or a mail, or nowhere. */
export function safeHref(href: string): string | null {
  const trimmed = href.trim();
  return /^(https?:\/\/|mailto:)/i.test(trimmed) && !/[\u0000-\u001f]/.test(trimmed) ? trimmed : null;
}

const anchor = (href: string, inner: string) => {
  const safe = safeHref(href);
  return safe === null
    ? `<span class="link-off">${inner}</span>`
    : `<a href="${escapeHTML(safe)}" rel="noreferrer noopener" target="_blank">${inner}</a>`;
};

// Text of agents makes no request and runs nothing: HTML is shown as it is written, an image is a link to it.
const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHTML(text),
    image: ({ href, text }) => anchor(href, `image: ${escapeHTML(text || href)}`),
    link({ href, tokens }) {
      return anchor(href, this.parser.parseInline(tokens));
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

/** One block. The highlighter shows code; everything else is shown as its html. */
export type Block = { key: number; html: string; code?: string; lang?: string; open: boolean };

function block(key: number, token: Token, open: boolean): Block {
  if (token.type !== "code") return { key, html: marked.parser([token]), open };
  const code = token as Tokens.Code;
  return { key, html: "", code: code.text, lang: (code.lang ?? "").split(/\s/)[0], open };
}

export class Markdown {
  blocks: Block[] = [];
  private text = "";
  private closed = 0;
  private upto = 0;

  /** set takes the text so far. A closed block is closed for good as long as the text goes on from there. */
  set(text: string, done: boolean): Block[] {
    if (!text.startsWith(this.text.slice(0, this.upto))) [this.blocks, this.closed, this.upto] = [[], 0, 0];
    this.text = text;
    const tokens = marked.lexer(text.slice(this.upto));
    let last = tokens.length - 1;
    while (last > 0 && tokens[last]!.type === "space") last--;
    const blocks = this.blocks.slice(0, this.closed);
    tokens.forEach((token, i) => {
      const open = !done && i >= last;
      if (!open) this.upto += token.raw.length;
      if (token.type === "space" || token.type === "def") return;
      blocks.push(block(blocks.length, token, open));
      if (!open) this.closed = blocks.length;
    });
    this.blocks = blocks;
    return blocks;
  }
}
