import { useEffect, useState } from "react";
import { picturesOf } from "../core/pictures";
import type { Thumbnail } from "../core/thumbnails";
import type { Entry } from "../core/types";
import { text } from "../text";
import { Dialog } from "./Dialog";
import { useClient } from "./hooks";

/** Pictures are the thumbnails of an entry; each opens whole in a dialog. */
export function Pictures({ entry }: { entry: Entry }) {
  const all = picturesOf(entry);
  if (all.length === 0) return null;
  return <div className="pictures">{all.map((source, i) => source.startsWith("/") ? <Stored key={i} path={source} name={text.picture(i + 1)} /> : <Picture key={i} shown={{ src: source, name: text.picture(i + 1) }} whole={source} />)}</div>;
}

const Lost = () => <p className="dim lost">{text.talk.lost}</p>;

/** Stored is a picture that the server keeps, as its small version. */
function Stored({ path, name }: { path: string; name: string }) {
  const { api, thumbnails } = useClient();
  const [shown, show] = useState<Thumbnail | "lost" | undefined>(thumbnails.of(path));
  useEffect(() => {
    if (thumbnails.of(path)) return;
    let gone = false;
    thumbnails.read(path).then((made) => !gone && show(made), () => !gone && show("lost"));
    return () => void (gone = true);
  }, [thumbnails, path]);
  if (shown === "lost") return <Lost />;
  return shown ? <Picture shown={{ ...shown, name: shown.name || name }} whole={api.url(path)} /> : <span className="thumbnail" />;
}

function Picture({ shown: { src, name }, whole }: { shown: Thumbnail; whole: string }) {
  const [open, setOpen] = useState(false);
  const [lost, setLost] = useState(false);
  if (lost) return <Lost />;
  return (
    <>
      <button type="button" className="thumbnail" onClick={() => setOpen(true)}><img src={src} alt={name} decoding="async" onError={() => setLost(true)} /></button>
      {open && (
        <Dialog title={name} close={() => setOpen(false)} wide>
          <img className="whole" src={whole} alt={name} />
          <div className="actions"><button type="button" onClick={() => setOpen(false)}>{text.talk.close}</button></div>
        </Dialog>
      )}
    </>
  );
}
