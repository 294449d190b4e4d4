import { defineAction, Type } from 'parley-forum';

/** Seconds between two replies of a member that moderators can choose from; 0 turns slow mode off. */
export const PAUSES = [0, 60, 300, 900, 3_600, 21_600, 86_400] as const;
/** The `slow_mode_seconds` of a discussion. */
export const Pause = Type.Integer({
  enum: [...PAUSES],
  description: 'Seconds a member must wait between replies to the discussion; 0: no slow mode',
});

/** A moderator changed the pause between replies. */
export const slowModeChanged = defineAction<{
  readonly discussion_id: string;
  readonly seconds: number;
  readonly by: string | undefined;
}>('slow-mode.changed');
