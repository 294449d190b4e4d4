/**
 * The detail of `read-marks:next`: what parts of the page add before it is left, the discussion to go on in first, and
 * what is being sent.
 */
export interface Leaving {
  in?: string;
  readonly sending: Promise<unknown>[];
}
