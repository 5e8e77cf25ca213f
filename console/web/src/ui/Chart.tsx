import { ticks } from "../core/money";
import { text } from "../text";
import { locale } from "../text/language";

/** Series is what one agent used, by day. */
export type Series = { name: string; values: Map<string, number> };
type ChartProps = { title: string; days: string[]; series: Series[]; word: (value: number) => string };

const wordDay = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", timeZone: "UTC" });
/** shortDay words a day (UTC): "Nov 22". */
export const shortDay = (day: string) => wordDay.format(new Date(`${day}T00:00:00Z`));

/** Chart shows a bar for each day, stacked by agent, with the same as a table. */
export function Chart({ title, days, series, word }: ChartProps) {
  const sums = days.map((day) => series.reduce((sum, one) => sum + (one.values.get(day) ?? 0), 0));
  const scale = ticks(Math.max(...sums));
  const top = scale.at(-1) || 1;
  const most = sums.indexOf(Math.max(...sums));
  const every = Math.ceil(days.length / 7);
  return (
    <section className="sheet">
      <div className="chart-head"><h2 className="grow">{title}</h2>{series.map((one, i) => <span key={one.name} className="line-row small"><i className="key" data-part={i % 6} />{one.name}</span>)}</div>
      <div className="chart" aria-hidden="true">
        <div className="chart-y">{[...scale].reverse().map((tick) => <span key={tick}>{word(tick)}</span>)}</div>
        <svg viewBox={`0 0 ${days.length * 10} 1000`} preserveAspectRatio="none">
          {scale.map((tick) => <line key={tick} x1="0" x2={days.length * 10} y1={1000 - (1000 * tick) / top} y2={1000 - (1000 * tick) / top} />)}
          {days.map((day, at) => {
            let below = 0;
            return series.map((one, i) => {
              const value = one.values.get(day) ?? 0;
              below += value;
              return value > 0 && <rect key={`${day} ${one.name}`} data-part={i % 6} x={at * 10 + 2} width="6" y={1000 - (1000 * below) / top} height={(1000 * value) / top}><title>{`${shortDay(day)} · ${one.name} · ${word(value)}`}</title></rect>;
            });
          })}
        </svg>
        <div className="chart-x">{days.map((day, at) => <span key={day} data-minor={(days.length - 1 - at) % (2 * every) !== 0 || undefined}>{(days.length - 1 - at) % every === 0 && shortDay(day)}</span>)}</div>
      </div>
      <details>
        <summary>{text.usage.asTable}<span className="unseen">{most >= 0 && ` ${text.usage.chart(title, word(sums[most]!), shortDay(days[most]!))}`}</span></summary>
        <div className="table"><table>
          <thead><tr><th>{text.usage.groups.day}</th>{series.map((one) => <th key={one.name} className="num">{one.name}</th>)}<th className="num">{text.usage.total}</th></tr></thead>
          <tbody>{days.map((day, at) => sums[at]! > 0 && <tr key={day}><th scope="row">{shortDay(day)}</th>{series.map((one) => <td key={one.name} className="num">{word(one.values.get(day) ?? 0)}</td>)}<td className="num">{word(sums[at]!)}</td></tr>)}</tbody>
        </table></div>
      </details>
    </section>
  );
}
