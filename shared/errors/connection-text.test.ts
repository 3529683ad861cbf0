import { describe, expect, it } from 'vitest';
import { connectionText } from './connection-text.js';

describe('connectionText', () => {
  it.each([
    ['No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ', 'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1'],
    ['No connection established. Last error: null. Resolution note: ', 'No connection established'],
    ['No connection established. Last error: . Resolution note:', 'No connection established'],
    ['No connection established. Last error: e. Resolution note: no such host', 'No connection established. Last error: e. Resolution note: no such host'],
    ['Connection dropped', 'Connection dropped'],
  ])('%j is %j', (details, expected) => {
    expect(connectionText(details)).toBe(expected);
  });
});
