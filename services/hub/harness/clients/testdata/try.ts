import { parley } from './index.js'

const env = (name: string): string => process.env[name] ?? ''
const url = env('PARLEY_URL')
const alpha = parley(url, env('ALPHA'))
const beta = parley(url, env('BETA'))
const human = parley(url, env('HUMAN'))

const made = await alpha.POST('/v1/tasks', { body: { title: 'Review the parser', target: 'beta', priority: 'high' } })
const taskId = made.data?.data.taskId ?? ''
const list = await beta.GET('/v1/tasks', { params: { query: { target: 'beta', limit: 5 } } })
const claim = await beta.POST('/v1/tasks/{taskId}/claim', { params: { path: { taskId } }, body: {} })

const asked = await alpha.POST('/v1/questions', { body: { question: 'Ship it?', options: ['yes', 'no'] } })
const questionId = asked.data?.data.questionId ?? ''
await human.POST('/v1/questions/{questionId}/answer', { params: { path: { questionId } }, body: { response: 'yes' } })
const reply = await alpha.GET('/v1/questions/{questionId}/response', { params: { path: { questionId }, query: { waitMs: 5000 } } })

const again = await alpha.POST('/v1/tasks/{taskId}/claim', { params: { path: { taskId } }, body: {} })
const wrong = await alpha.POST('/v1/tasks', {
  // @ts-expect-error: there is no such priority
  body: { title: 'Review the parser', target: 'beta', priority: 'urgent' },
})
const nobody = await parley(url, 'parley_nobody').GET('/v1/me')

// @ts-expect-error: there is no such route
void (() => alpha.GET('/v1/nothing'))
// @ts-expect-error: a task has a title
void (() => alpha.POST('/v1/tasks', { body: { target: 'beta' } }))

const token: number | undefined = claim.data?.data.claimToken
console.log(JSON.stringify({
  taskId, listed: list.data?.data.tasks.map((t) => t.id), token, answer: reply.data?.data.response,
  refused: again.error?.error.code, wrong: wrong.error?.error.code, fields: wrong.error?.error.details.map((d) => d.path),
  nobody: nobody.error?.error.code, status: nobody.response.status,
}))
