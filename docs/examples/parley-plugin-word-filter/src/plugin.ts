import { definePlugin, InvalidInput, Type } from 'parley-forum';
import { draftAccepted } from 'parley-forum/plugins/discussions';
import { findWords, maskWords } from './words.ts';

export default definePlugin({
  id: 'word-filter',
  name: 'Word filter',
  version: '1.0.0',
  description: 'Refuses or masks words in posts and titles.',
  settings: Type.Object({
    'word-filter.words': Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      default: [],
      maxItems: 1000,
      title: 'Words',
      description: 'Whole words or phrases, in capitals or not. They count for what is written from now on.',
    }),
    'word-filter.action': Type.Enum(['refuse', 'replace'], {
      default: 'refuse',
      title: 'What happens to them',
      description: 'refuse: the author is told which word it is. replace: a dot is stored for each of its letters.',
    }),
  }),

  setup(_services, plugin) {
    plugin.on(draftAccepted, (draft) => {
      // Read each time, so that a change of the settings holds for the very next draft.
      const words = plugin.settings['word-filter.words'];
      if (plugin.settings['word-filter.action'] === 'replace') {
        return {
          ...(draft.title !== undefined && { title: maskWords(draft.title, words) }),
          ...(draft.content !== undefined && { content: maskWords(draft.content, words) }),
        };
      }
      const problems = (['title', 'content'] as const).flatMap((field) => {
        const found = findWords(draft[field] ?? '', words);
        return found.length > 0 ? [{ field, message: `must do without: ${found.join(', ')}` }] : [];
      });
      if (problems.length > 0) throw new InvalidInput(problems);
      return draft;
    });
  },
});
