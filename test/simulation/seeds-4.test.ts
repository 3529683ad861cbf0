import { greenSeeds } from './green-seeds.js';

greenSeeds(3);
