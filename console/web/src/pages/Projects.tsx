import { useState } from "react";
import type { Answer, Project } from "../api/answers";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { useAnswer } from "../ui/useAnswer";

const words = text.set;

/** focus puts the focus into a field that was just drawn. */
const focus = (field: HTMLInputElement | null) => field?.focus();

/** Projects group sessions; each can have a folder of its own. */
export function Projects() {
  const client = useClient();
  const { answer, failure, again } = useAnswer(() => client.api.get<Answer<"/api/projects">>("/api/projects"), []);
  const [name, setName] = useState("");
  const [folder, setFolder] = useState("");
  const [refused, setRefused] = useState<string | null>(null);
  const run = (work: () => Promise<unknown>) => {
    setRefused(null);
    return work().then(again, (err: Error) => setRefused(err.message));
  };
  const create = () => run(async () => {
    await client.api.post("/api/projects", { name, ...(folder && { workingDirectory: folder }) });
    setName("");
    setFolder("");
  });
  return (
    <>
      <form className="inline-form" onSubmit={(e) => { e.preventDefault(); void create(); }}>
        <input value={name} aria-label={words.projectName} placeholder={words.projectName} onChange={(e) => setName(e.target.value)} />
        <input className="grow" value={folder} aria-label={words.projectFolder} placeholder={words.projectFolder} onChange={(e) => setFolder(e.target.value)} />
        <button type="submit" className="primary" disabled={name.trim() === ""}>{words.createProject}</button>
      </form>
      {(refused ?? failure) && <p className="failure" role="alert">{refused ?? text.operator.failed + failure}</p>}
      {answer?.data.length === 0 && <p className="dim">{words.noProjects}</p>}
      {!!answer?.data.length && <ul className="items">{answer.data.map((project) => <One key={project.projectId} project={project} run={run} />)}</ul>}
    </>
  );
}

function One({ project, run }: { project: Project; run: (work: () => Promise<unknown>) => Promise<void> }) {
  const client = useClient();
  const [name, setName] = useState<string | null>(null);
  const path = `/api/projects/${encodeURIComponent(project.projectId)}`;
  if (name !== null) {
    return (
      <li><form className="inline-form grow" onSubmit={(e) => { e.preventDefault(); void run(() => client.api.post(`${path}/rename`, { name })).then(() => setName(null)); }}>
        <input className="grow" ref={focus} value={name} aria-label={words.projectName} onChange={(e) => setName(e.target.value)} />
        <button type="submit" className="primary" disabled={name.trim() === ""}>{text.session.save}</button>
        <button type="button" onClick={() => setName(null)}>{text.session.cancel}</button>
      </form></li>
    );
  }
  return (
    <li data-project={project.projectId}>
      <Icon name="folder" className="dim" />
      <span className="grow">{project.name}{project.workingDirectory && <p className="mono">{project.workingDirectory}</p>}</span>
      <button type="button" onClick={() => setName(project.name)}>{words.rename}</button>
      <button type="button" className="ghost icon" aria-label={words.removeProject(project.name)} title={words.removeProject(project.name)} onClick={() => void run(() => client.api.delete(path))}><Icon name="trash-2" /></button>
    </li>
  );
}
