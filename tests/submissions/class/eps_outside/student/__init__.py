from . import model
from .model import *
