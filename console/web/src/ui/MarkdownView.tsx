import { memo, useMemo, useRef } from "react";
import { Markdown, type Block } from "../core/markdown";
import { Code } from "./Code";

const BlockView = memo(
  function BlockView({ block }: { block: Block }) {
    if (block.code !== undefined) return <Code code={block.code} lang={block.lang ?? ""} open={block.open} />;
    return <div dangerouslySetInnerHTML={{ __html: block.html }} />;
  },
  (a, b) => a.block.html === b.block.html && a.block.code === b.block.code && a.block.open === b.block.open,
);

/** MarkdownView shows a text that may still grow; blocks that are closed are not rendered again. */
export function MarkdownView({ text, done }: { text: string; done: boolean }) {
  const markdown = useRef<Markdown | null>(null);
  markdown.current ??= new Markdown();
  const blocks = useMemo(() => markdown.current!.set(text, done), [text, done]);
  return <div className="md">{blocks.map((block) => <BlockView key={block.key} block={block} />)}</div>;
}
