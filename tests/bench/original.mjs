// A stand-in for codex-manager's way of keeping an entry, written from what was observed of it: per upsert the runtime is asked whether the
// conversation is there, the entry goes into a map in memory, the answer is sent, and the file with all entries of all conversations is written
// whole, without fsync, once more when entries came while it was written. It does less than codex-manager: no validation, no log, no sockets.
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { createInterface } from 'node:readline'

const [port, codex, dir, stored] = process.argv.slice(2)
const most = 5000 // entries of a conversation

const child = spawn(codex, ['app-server'], { stdio: ['pipe', 'pipe', 'ignore'], cwd: dir })
const waiting = new Map()
let lastID = 0
createInterface({ input: child.stdout }).on('line', (line) => {
  const message = JSON.parse(line)
  const answer = message.method === undefined && waiting.get(message.id)
  if (!answer) return
  waiting.delete(message.id)
  if (message.error) answer.reject(new Error(message.error.message))
  else answer.resolve(message.result)
})
child.on('exit', () => process.exit(1))
const send = (message) => child.stdin.write(JSON.stringify(message) + '\n')
const call = (method, params) => new Promise((resolve, reject) => {
  const id = ++lastID
  waiting.set(id, { resolve, reject })
  send({ id, method, params })
})

async function exists(threadId) {
  try {
    await call('thread/read', { threadId, includeTurns: false })
    return true
  } catch {
    return (await call('thread/loaded/list', {})).data.includes(threadId)
  }
}

const threads = new Map()
let sequence = 0
let writing = false
let changed = false
async function persist() {
  changed = true
  if (writing) return
  writing = true
  while (changed) {
    changed = false
    const byThreadId = {}
    for (const [id, entries] of threads) byThreadId[id] = [...entries.values()]
    await writeFile(dir + '/supplemental-transcript.json', JSON.stringify({ version: 1, sequence, byThreadId }))
  }
  writing = false
}

function upsert(threadId, entry) {
  if (!threads.has(threadId)) threads.set(threadId, new Map())
  const entries = threads.get(threadId)
  const old = entries.get(entry.messageId)
  entries.set(entry.messageId, old ? { sequence: old.sequence, entry: { ...old.entry, ...entry } } : { sequence: ++sequence, entry })
  if (entries.size > most) entries.delete(entries.keys().next().value)
  void persist()
}

async function answer(request) {
  if (request.url === '/api/ready') return { status: 'ok' }
  let text = ''
  request.setEncoding('utf8')
  for await (const part of request) text += part
  if (request.url === '/api/sessions') {
    return { session: { sessionId: (await call('thread/start', { cwd: dir, approvalPolicy: 'never' })).thread.id } }
  }
  const sessionId = request.url.split('/')[3]
  const entry = JSON.parse(text)
  if (!(await exists(sessionId))) throw new Error('not found')
  upsert(sessionId, entry)
  return { status: 'ok', sessionId, entry }
}

await call('initialize', { clientInfo: { name: 'bench', title: 'bench', version: '1' }, capabilities: { experimentalApi: true } })
send({ method: 'initialized' })
for (let i = 0; i < Number(stored); i++) {
  const entry = { messageId: 'old-' + i, turnId: 'bench', role: 'assistant', type: 'agentMessage', content: 'c'.repeat(1024), status: 'complete' }
  upsert('another conversation', entry)
}
http.createServer((request, response) => {
  answer(request).then((body) => [200, body], (failure) => [500, { message: failure.message }]).then(([status, body]) => {
    const text = JSON.stringify(body)
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    response.end(text)
  })
}).listen(Number(port), '127.0.0.1')
