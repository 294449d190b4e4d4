import { Cache, Clock, Data, definePlugin, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { api, IdParams } from 'parley-forum/plugins/api';
import { discussionFields, Discussions } from 'parley-forum/plugins/discussions';
import { eventRules } from 'parley-forum/ports/events';
import { Notifications, notificationTypes } from 'parley-forum/ports/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { Web } from 'parley-forum/plugins/web';
import { Poll, pollClosed, Polls, vote, type PollClosed } from './api.ts';
import { pollField } from './field.ts';
import { addPages } from './pages.ts';
import { votesOfMember } from './personal-data.ts';
import { PollService } from './service.ts';

export default definePlugin({
  id: 'polls',
  name: 'Polls',
  version: '1.0.0',
  description: 'A poll under a discussion.',
  needs: { data: Data, cache: Cache, clock: Clock, access: Access, accounts: Accounts, discussions: Discussions },
  wants: { web: Web, notifications: Notifications },
  provides: { polls: Polls },
  hooks: [pollClosed],
  permissions: [vote],
  settings: Type.Object({
    'polls.days': Type.Number({
      default: 7,
      exclusiveMinimum: 0,
      maximum: 365,
      title: 'Days for which a poll is open',
      description: 'Of polls that begin from now on; 0.5 is half a day.',
    }),
  }),

  setup({ data, cache, clock, access, accounts, discussions, web, notifications }, plugin) {
    // Kept in the database until its moment comes, so no restart forgets a poll.
    const closing = plugin.job<{ id: string }>('close', {
      schema: Type.Object({ id: Type.String() }),
      run: ({ id }) => polls.close(id),
    });
    const polls: PollService = new PollService({
      data,
      cache,
      clock,
      days: () => plugin.settings['polls.days'],
      // Jobs go by real time, whatever the forum's clock says.
      closeIn: (id, milliseconds) => closing.add({ id }, { at: new Date(Date.now() + milliseconds) }),
      closed: (payload) => plugin.emit(pollClosed, payload),
    });

    plugin.extend(discussionFields, pollField(polls));
    plugin.extend(personalData, votesOfMember(data, cache));
    plugin.extend(eventRules, {
      hook: pollClosed,
      async visible(published, viewer) {
        const ids = (published as readonly Pick<PollClosed, 'poll'>[]).map(({ poll }) => poll.discussion_id);
        const seen = new Set((await discussions.records(ids, viewer)).map(({ id }) => id));
        return ids.map((id) => seen.has(id));
      },
    });
    plugin.route(api, {
      method: 'put',
      path: '/discussions/:id/vote',
      summary: 'Votes in the poll of a discussion, in place of an earlier vote.',
      params: IdParams,
      body: Type.Object({ option: Type.Integer({ minimum: 0, description: 'Counted from 0' }) }),
      result: Type.Object({ poll: Poll }),
      can: vote,
      load: ({ params, actor }) => discussions.find(params.id, actor),
    })(async ({ target, body, actor }) => ({ poll: await polls.vote(target.id, body.option, actor) }));

    if (web) addPages(plugin, { access, discussions, polls, web });
    if (notifications) {
      plugin.extend(notificationTypes, {
        type: 'poll_closed',
        label: 'polls:notify',
        sentence: 'polls:notified',
        mailed: false,
      });
      plugin.on(
        pollClosed,
        async ({ poll, authorId }) => {
          const author = (await accounts.viewers([authorId])).get(authorId);
          const discussion = author && (await discussions.find(poll.discussion_id, author));
          if (!discussion) return;
          const { id, number } = discussion;
          await notifications.notify([
            { type: 'poll_closed', userId: authorId, discussionId: id, url: `/d/${number}`, key: `poll:${id}` },
          ]);
        },
        { durable: true },
      );
    }
    return { polls };
  },
});
