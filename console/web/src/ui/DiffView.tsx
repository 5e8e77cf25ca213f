import { memo, useMemo, useState } from "react";
import { Virtualizer } from "virtua";
import { fileDiff, pairs, type Change, type DiffPair, type DiffRow, type FileDiff } from "../core/diff";
import { text } from "../text";
import { usePreferences } from "./preferences";

const folded = 500;
const signs = { add: "+", del: "−", same: " ", hunk: "" } as const;

export function Counts({ file }: { file: FileDiff }) {
  return <span className="counts"><ins>+{file.added}</ins> <del>−{file.removed}</del></span>;
}

const unified = (row: DiffRow, i: number) => (
  <div key={i} className={`dl ${row.kind}`}>
    <span className="no">{row.old ?? ""}</span>
    <span className="no">{row.new ?? ""}</span>
    <span className="sign">{signs[row.kind]}</span>
    <span className="line">{row.text}</span>
  </div>
);

function Half({ row, no }: { row: DiffRow | undefined; no: number | undefined }) {
  return (
    <div className={`half ${row?.kind ?? "none"}`}>
      <span className="no">{no ?? ""}</span>
      <span className="sign">{row ? signs[row.kind] : ""}</span>
      <span className="line">{row?.text}</span>
    </div>
  );
}

const beside = (pair: DiffPair, i: number) =>
  pair.hunk !== undefined ? <div key={i} className="dl hunk">{pair.hunk}</div> : (
    <div key={i} className="pair"><Half row={pair.left} no={pair.left?.old} /><Half row={pair.right} no={pair.right?.new} /></div>
  );

const Lines = memo(function Lines({ file, split }: { file: FileDiff; split: boolean }) {
  const rows = useMemo(() => (split ? pairs(file.rows).map(beside) : file.rows.map(unified)), [file, split]);
  return <div className="diff-lines" data-split={split || undefined} tabIndex={0}>{rows.length > 200 ? <Virtualizer>{rows}</Virtualizer> : rows}</div>;
});

function File({ file, split }: { file: FileDiff; split: boolean }) {
  const [open, setOpen] = useState(file.rows.length <= folded);
  return (
    <details className="file" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary><span className="mono">± {file.path}</span> <Counts file={file} /></summary>
      {open && <Lines file={file} split={split} />}
    </details>
  );
}

/** DiffView shows changes of files; all are listed, large ones are opened on demand. */
export function DiffView({ changes }: { changes: Change[] }) {
  const files = useMemo(() => changes.map(fileDiff), [changes]);
  const [{ split }, change] = usePreferences();
  const replaces = files.some((file) => file.added > 0 && file.removed > 0);
  return (
    <div className="diff">
      {replaces && <button type="button" className="quiet split" aria-pressed={split} onClick={() => change({ split: !split })}>{split ? text.diff.unified : text.diff.split}</button>}
      {files.map((file) => <File key={file.path} file={file} split={split} />)}
    </div>
  );
}
