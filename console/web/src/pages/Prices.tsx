import { useEffect, useRef, useState } from "react";
import type { Answer, Schemas } from "../api/answers";
import { money } from "../core/money";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { useAnswer } from "../ui/useAnswer";

const words = text.prices;
const amounts = ["inputMicros", "cachedInputMicros", "outputMicros"] as const;
const labels = { inputMicros: words.input, cachedInputMicros: words.cached, outputMicros: words.output };
const today = () => new Date().toISOString().slice(0, 10);
const empty = { inputMicros: "", cachedInputMicros: "", outputMicros: "" };

/** exactly words a price, which may be less than a cent. */
const exactly = (micros: number) => (micros % 10_000 === 0 ? money(micros) : `$${micros / 1e6}`);

/** Prices is what models cost. Administrators set prices; `model` is one to set, and null where nothing asks for it. */
export function Prices({ model, changed }: { model: string | null; changed: () => void }) {
  const client = useClient();
  const { answer, failure, again } = useAnswer(() => client.api.get<Answer<"/api/prices">>("/api/prices"), []);
  const [refused, setRefused] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [from, setFrom] = useState(today);
  const [cost, setCost] = useState(empty);
  const field = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (model === null || !box.current) return;
    box.current.open = true;
    setName(model);
    field.current?.focus();
  }, [model]);
  const run = (work: () => Promise<unknown>) => {
    setRefused(null);
    return work().then(() => { again(); changed(); }, (err: Error) => setRefused(err.message));
  };
  const save = () => run(async () => {
    const micros = Object.fromEntries(amounts.map((one) => [one, Math.round(Number(cost[one]) * 1e6)]));
    await client.api.post("/api/prices", { model: name, from, ...micros });
    setName("");
    setCost(empty);
  });
  return (
    <details className="sheet prices" ref={box}>
      <summary>{words.title}</summary>
      {answer && <p className="dim small">{words.note(answer.builtInSince)}</p>}
      {client.may("administer") && (
        <form className="inline-form" onSubmit={(e) => { e.preventDefault(); void save(); }}>
          <input ref={field} value={name} aria-label={words.model} placeholder={words.modelHint} required onChange={(e) => setName(e.target.value)} />
          {amounts.map((one) => <input key={one} className="num" type="number" min="0" max="1000" step="any" required aria-label={labels[one]} placeholder={labels[one]} value={cost[one]} onChange={(e) => setCost({ ...cost, [one]: e.target.value })} />)}
          <input type="date" aria-label={words.from} required value={from} onChange={(e) => setFrom(e.target.value)} />
          <button type="submit" className="primary">{words.save}</button>
        </form>
      )}
      {(refused ?? failure) && <p className="failure" role="alert">{refused ?? text.operator.failed + failure}</p>}
      {answer && (
        <div className="table"><table>
          <thead><tr><th>{words.model}</th><th data-minor>{words.from}</th>{amounts.map((one) => <th key={one} className="num" data-minor={one === "cachedInputMicros" || undefined}>{labels[one]}</th>)}<th><span className="unseen">{words.builtIn}</span></th></tr></thead>
          <tbody>{answer.data.map((price) => <One key={price.id ?? price.model} price={price} remove={client.may("administer") && price.id !== null ? () => void run(() => client.api.delete(`/api/prices/${price.id}`)) : null} />)}</tbody>
        </table></div>
      )}
    </details>
  );
}

function One({ price, remove }: { price: Schemas["Price"]; remove: (() => void) | null }) {
  return (
    <tr data-price={price.model}>
      <th scope="row">{price.model}</th>
      <td data-minor>{price.from ?? words.always}</td>
      {amounts.map((one) => <td key={one} className="num" data-minor={one === "cachedInputMicros" || undefined}>{exactly(price[one])}</td>)}
      <td>{price.builtIn ? <span className="dim small">{words.builtIn}</span> : remove && <button type="button" className="ghost icon" aria-label={words.remove(price.model)} title={words.remove(price.model)} onClick={remove}><Icon name="trash-2" /></button>}</td>
    </tr>
  );
}
