import { useState } from "react";
import { Link as To, useLocation, useSearch } from "wouter";
import type { Answer, Job } from "../api/answers";
import { ApiError } from "../core/api";
import { momentOf, since, took } from "../core/time";
import { text } from "../text";
import { useClient, useNow, useSignal } from "../ui/hooks";
import { PageHead } from "../ui/PageHead";
import { useAnswer } from "../ui/useAnswer";

const words = text.jobs;
const states = ["queued", "running", "failed", "completed", "canceled"] as const;
/** How many jobs are shown at most. */
const most = 200;
const ended = (job: Job) => !["queued", "running"].includes(job.state);
const length = (job: Job) => (job.startedAt ? took((job.completedAt ? Date.parse(job.completedAt) : Date.now()) - Date.parse(job.startedAt)) : "");
const pretty = (value: unknown) => JSON.stringify(value, null, 2)?.slice(0, 50_000) ?? "";

function Detail({ job, changed, open }: { job: Job; changed: () => void; open: (job: string) => void }) {
  const client = useClient();
  const [failure, setFailure] = useState<string | null>(null);
  // What is refused for the job's state is refused for one that is not shown yet.
  const refused = (err: Error) => {
    setFailure(err instanceof ApiError && err.code === "already_terminal" ? words.over : err.message);
    changed();
  };
  const cancel = () => {
    setFailure(null);
    client.api.post(`/api/orchestrator/jobs/${encodeURIComponent(job.id)}/cancel`).then(changed, refused);
  };
  const runAgain = () => {
    setFailure(null);
    client.api.post<{ job: Job }>(`/api/jobs/${encodeURIComponent(job.id)}/run-again`).then((queued) => { changed(); open(queued.job.id); }, refused);
  };
  const times = (["createdAt", "startedAt", "lastAttemptAt", "nextAttemptAt", "cancelRequestedAt", "completedAt"] as const)
    .flatMap((name) => (job[name] ? [[name, job[name]] as const] : [])).sort((a, b) => Date.parse(a[1]) - Date.parse(b[1]));
  const works = job.runningContext?.threadId;
  return (
    <aside className="panel" aria-label={job.type}>
      <h2 className="mono">{job.type}</h2>
      <p className="mono dim">{job.id}</p>
      <p className="dim">{words.owner}: {client.store.projects.get(job.projectId) ?? job.projectId} · {words.attempt(job.attempts, job.maxAttempts)}</p>
      <p><span className="pill" data-state={job.state} title={job.state}>{words.states[job.state] ?? job.state}</span> {job.cancelRequestedAt && !ended(job) && words.canceling}</p>
      {!ended(job) && !job.cancelRequestedAt && client.may("work") && <p><button type="button" className="bad" onClick={cancel}>{words.cancel}</button></p>}
      {ended(job) && client.may("work") && <p><button type="button" onClick={runAgain}>{words.again}</button></p>}
      {failure && <p className="failure" role="alert">{failure}</p>}
      {job.error && <><h2>{words.error}</h2><pre tabIndex={0}>{job.error}</pre></>}
      <h2>{words.timeline}</h2>
      <ul className="plain-list">{times.map(([name, at]) => <li key={name}>{words.steps[name]} <span className="dim">{momentOf(at)}</span></li>)}</ul>
      {job.sourceSessionId && <p><To href={`/s/${encodeURIComponent(job.sourceSessionId)}`}>{words.source}</To></p>}
      {works && <p><To href={`/s/${encodeURIComponent(works)}`}>{words.worker}</To></p>}
      <h2>{words.payload}</h2><pre tabIndex={0}>{pretty(job.payload)}</pre>
      {job.result !== null && <><h2>{words.result}</h2><pre tabIndex={0}>{pretty(job.result)}</pre></>}
    </aside>
  );
}

/** Jobs are those of all projects, newest first, with filters in the page's address. */
export function Jobs() {
  const client = useClient();
  useSignal(client.store.jobs);
  useSignal(client.store.list);
  const now = useNow(10_000);
  const search = useSearch();
  const [, go] = useLocation();
  const [paused, setPaused] = useState(false);
  const query = new URLSearchParams(search);
  const [state, type, id] = [query.get("state") ?? "", query.get("type") ?? "", query.get("job")];
  const filter = (change: Record<string, string>) => {
    const next = new URLSearchParams(search);
    for (const [name, value] of Object.entries(change)) value ? next.set(name, value) : next.delete(name);
    go(`/jobs${next.size > 0 ? `?${next}` : ""}`, { replace: true });
  };
  const { projects } = client.store;
  const rev = client.store.jobs.rev;
  const asked = useAnswer(() => {
    const wanted = new URLSearchParams({ limit: String(most), ...(state && { state }), ...(type && { type }) });
    return client.api.get<Answer<"/api/jobs">>(`/api/jobs?${wanted}`);
  }, [state, type], { rev, paused });
  const one = useAnswer(async () => (id ? (await client.api.get<Answer<"/api/orchestrator/jobs/{jobId}">>(`/api/orchestrator/jobs/${encodeURIComponent(id)}`)).job : null), [id], { rev, paused });
  const shown = asked.answer?.data ?? [];
  const counts = asked.answer?.counts;
  const picked = one.answer?.id === id ? one.answer : null;
  const again = () => { asked.again(); one.again(); };
  return (
    <div className="jobs">
      <div className="talk">
        <PageHead title={words.title} asked={asked}>
          <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? words.go : words.pause}</button>
        </PageHead>
        <div className="tabs pad" role="group" aria-label={words.state}>
          {(["", ...states] as const).map((one) => (
            <button key={one} type="button" className="tab" aria-pressed={state === one} onClick={() => filter({ state: one })}>
              {one === "" ? words.all : words.states[one]} {counts && (one === "" ? states.reduce((sum, each) => sum + counts[each], 0) : counts[one])}
            </button>
          ))}
          <select className="picker" aria-label={words.filter} value={type} onChange={(e) => filter({ type: e.target.value })}>
            <option value="">{words.everyType}</option>
            {[...new Set([...shown.map((job) => job.type), ...(type ? [type] : [])])].sort().map((one) => <option key={one}>{one}</option>)}
          </select>
        </div>
        <div className="scroll pad">
          {asked.answer && shown.length === 0 && <p className="dim">{words.none}</p>}
          {shown.length > 0 && (
            <table>
              <thead><tr><th>{words.state}</th><th>{words.type}</th><th data-minor>{words.owner}</th><th data-minor>{words.attempts}</th><th data-minor>{words.took}</th><th>{words.made}</th></tr></thead>
              <tbody>{shown.map((job) => (
                <tr key={job.id} data-job={job.id} aria-selected={job.id === id || undefined}>
                  <td><span className={`pill ${job.state === "failed" ? "error" : job.state === "running" ? "running" : ""}`} data-state={job.state} title={job.state}>{words.states[job.state] ?? job.state}</span></td>
                  <th scope="row"><button type="button" className="quiet mono" onClick={() => filter({ job: job.id })}>{job.type}</button></th>
                  <td data-minor>{projects.get(job.projectId) ?? job.projectId}</td>
                  <td data-minor>{job.attempts}/{job.maxAttempts}</td>
                  <td data-minor>{length(job)}</td>
                  <td className="dim">{since(now - Date.parse(job.createdAt))}</td>
                </tr>
              ))}</tbody>
            </table>
          )}
          {asked.answer?.nextCursor && <p className="dim">{words.more(most)}</p>}
        </div>
      </div>
      {picked && <Detail key={picked.id} job={picked} changed={again} open={(job) => filter({ job })} />}
    </div>
  );
}
