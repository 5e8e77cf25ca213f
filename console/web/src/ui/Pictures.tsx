import { picturesOf } from "../core/pictures";
import type { Entry } from "../core/types";
import { text } from "../text";
import { useClient } from "./hooks";

/** Pictures are the thumbnails of an entry; each opens as a whole in a tab of its own. */
export function Pictures({ entry }: { entry: Entry }) {
  const client = useClient();
  const all = picturesOf(entry);
  if (all.length === 0) return null;
  return (
    <div className="pictures">
      {all.map((source, i) => {
        const url = source.startsWith("/") ? client.api.url(source) : source;
        const thumbnail = <img src={url} alt={text.picture(i + 1)} loading="lazy" decoding="async" />;
        return source.startsWith("/") ? <a key={i} href={url} target="_blank" rel="noreferrer">{thumbnail}</a> : <span key={i}>{thumbnail}</span>;
      })}
    </div>
  );
}
