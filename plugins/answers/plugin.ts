import { Cache, Clock, Data, definePlugin, sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { acceptAnswers, answerAccepted, answerWithdrawn } from 'parley-forum/plugins/answers';
import {
  Categories,
  categoryDeleted,
  categoryFields,
  discussionFields,
  Discussions,
  listFilters,
  postFields,
} from 'parley-forum/plugins/discussions';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Answers } from 'parley-forum/ports/imports';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { eventRules } from 'parley-forum/ports/events';
import { Live } from 'parley-forum/ports/live';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { Web } from 'parley-forum/plugins/web';
import { AnswerService } from './answer-service.ts';
import { AnswerStore } from './answer-store.ts';
import { answerRules } from './event-rules.ts';
import { answerField, categoryField, postField } from './fields.ts';
import { notifyAuthors } from './notifications.ts';
import { answerPages } from './pages.ts';
import { answersPersonalData } from './personal-data.ts';
import { answerRoutes } from './routes.ts';
import { questionPages } from './structured-data.ts';

export default definePlugin({
  id: 'answers',
  name: 'Answers',
  version: '1.0.0',
  description: 'Question categories with accepted answers.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    access: Access,
    accounts: Accounts,
    categories: Categories,
    discussions: Discussions,
    markdown: Markdown,
  },
  wants: { live: Live, notifications: Notifications, web: Web },
  provides: { answers: Answers },
  hooks: [answerAccepted, answerWithdrawn],
  permissions: [acceptAnswers],
  setup({ data, cache, clock, access, accounts, categories, discussions, markdown, live, notifications, web }, plugin) {
    const store = new AnswerStore({ data, cache, clock, access, discussions });
    const answers = new AnswerService({ plugin, data, cache, access, categories, discussions, live, store });
    plugin.extend(categoryFields, categoryField(store));
    plugin.extend(discussionFields, answerField(store));
    plugin.extend(postFields, postField(store));
    const offered = async ({ id }: { readonly id: string }): Promise<boolean> => (await store.categories()).has(id);
    plugin.extend(listFilters, {
      name: 'unsolved',
      label: 'answers:unsolved',
      offered,
      where: async () => sql<boolean>`not ${await store.solved()}`,
    });
    plugin.extend(listFilters, { name: 'solved', label: 'answers:solved', offered, where: () => store.solved() });
    plugin.on(categoryDeleted, ({ id }) => store.ask(id, false), { awaited: true });

    for (const [hook, action] of [
      [answerAccepted, 'answer.accepted'],
      [answerWithdrawn, 'answer.withdrawn'],
    ] as const)
      plugin.extend(
        auditRules,
        audited(hook, [action], ({ by, post_id: id, discussion_id: discussion, moderated }) =>
          moderated ? { action, actor: by, subject: { type: 'post', id }, details: { discussion } } : undefined,
        ),
      );
    for (const rule of answerRules(discussions)) plugin.extend(eventRules, rule);
    plugin.extend(personalData, answersPersonalData(data));
    if (notifications) notifyAuthors(plugin, { accounts, discussions, notifications });
    questionPages(plugin, { access, discussions, markdown, store });

    const deps = { plugin, discussions, store, answers };
    answerRoutes(deps);
    if (web) answerPages({ ...deps, markdown, web });
    return { answers: store };
  },
});
