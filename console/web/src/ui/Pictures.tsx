import { useState } from "react";
import { picturesOf } from "../core/pictures";
import type { Entry } from "../core/types";
import { text } from "../text";
import { Dialog } from "./Dialog";
import { useClient } from "./hooks";

/** Pictures are the thumbnails of an entry; each opens whole in a dialog. */
export function Pictures({ entry }: { entry: Entry }) {
  const client = useClient();
  const all = picturesOf(entry);
  if (all.length === 0) return null;
  return <div className="pictures">{all.map((source, i) => <Picture key={i} url={source.startsWith("/") ? client.api.url(source) : source} name={text.picture(i + 1)} />)}</div>;
}

function Picture({ url, name }: { url: string; name: string }) {
  const [open, setOpen] = useState(false);
  const [lost, setLost] = useState(false);
  if (lost) return <p className="dim lost">{text.talk.lost}</p>;
  return (
    <>
      <button type="button" className="thumbnail" onClick={() => setOpen(true)}><img src={url} alt={name} loading="lazy" decoding="async" onError={() => setLost(true)} /></button>
      {open && (
        <Dialog title={name} close={() => setOpen(false)} wide>
          <img className="whole" src={url} alt={name} />
          <div className="actions"><button type="button" onClick={() => setOpen(false)}>{text.talk.close}</button></div>
        </Dialog>
      )}
    </>
  );
}
