import { defineExtensionPoint } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** Something that whoever is new to the forum does well to begin with. */
export interface FirstStep {
  /** A text, such as `notifications:first-step`. */
  readonly label: string;
  /** The page where it is done. */
  readonly href: string;
  /** Whether the member has done it; one statement at most, asked with each front page of theirs while they are new. */
  done(member: Viewer): Promise<boolean>;
}
export const firstSteps = defineExtensionPoint<FirstStep>(
  'first-steps.steps',
  'What the front page proposes to new members, in the order of `order`, until they have done it.',
);
