// client.mjs CWD CMD ARGS...: drives an agent of the Agent Client Protocol with the protocol's own SDK, which checks
// every message against the schema, and prints what came.
import * as acp from '@agentclientprotocol/sdk'
import {spawn} from 'node:child_process'
import {Readable, Writable} from 'node:stream'

const [, , cwd, command, ...args] = process.argv
const child = spawn(command, args, {stdio: ['pipe', 'pipe', 'inherit'], cwd})
const print = (kind, value) => console.log(kind, JSON.stringify(value))
const app = acp.client({name: 'test'})
  .onRequest(acp.methods.client.session.requestPermission, ({params}) => {
    print('permission', params.options)
    return {outcome: {outcome: 'selected', optionId: params.options.find(o => o.kind === 'allow_once').optionId}}
  })
  .onNotification(acp.methods.client.session.update, ({params}) => print('update', params.update))
await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async agent => {
  const call = async (method, params) => {
    const answer = await agent.request(method, params)
    print(method, answer)
    return answer
  }
  await call('initialize', {protocolVersion: 1, clientCapabilities: {}, clientInfo: {name: 'test', version: '1'}})
  const {sessionId} = await call('session/new', {cwd, mcpServers: []})
  await call('session/set_mode', {sessionId, modeId: 'ask'})
  await call('session/prompt', {sessionId, prompt: [{type: 'text', text: 'MOCK_CMD[echo once >> sdk.txt]'}]})
  await call('session/list', {})
  await call('session/load', {sessionId, cwd, mcpServers: []})
  await call('session/close', {sessionId})
})
child.kill()
process.exit(0)
